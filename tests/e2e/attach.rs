//! `ppin attach`: a program that runs already comes under ppin, and notices nothing.

#![allow(missing_docs, reason = "tests")]

use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::talk::Talk;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use std::fs;
use std::path::{Path, PathBuf};

fn text(path: &Path) -> String {
    path.to_str().expect("plain text").to_owned()
}

fn guest(path: &str, variant: &str) -> Option<PathBuf> {
    Guest::load(path).build(variant)
}

fn verb(ppin: &Ppin, words: &[&str], pid: &str) -> (Ended, String) {
    let outcome = ppin.verb(&[words, &[pid]].concat()).run();
    (outcome.ended, outcome.errors())
}

fn done() -> (Ended, String) {
    (Ended::Exit(0), String::new())
}

/// Where a program under ppin writes, and the options that say so.
struct Files {
    scratch: Scratch,
    ppin: Ppin,
}

impl Files {
    fn new() -> Self {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        Self { scratch, ppin }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn attach(&self, tool: &str, pid: &str) -> (Ended, String) {
        let [db, report] = [self.scratch.db(), self.path("report")].map(|path| text(&path));
        let stats = format!("--stats={}", text(&self.path("stats")));
        let words = ["attach", "--db", &db, "-t", tool, "-o", &report, &stats];
        verb(&self.ppin, &words, pid)
    }
}

#[test]
fn a_running_program_comes_under_ppin() {
    let shell =
        Cmd::new("bash").args(["-c", "while read -r word; do echo got $word; done; echo ok"]);
    let guests = ["pie", "static"].map(|variant| guest("thread/answers.c", variant).map(Cmd::new));
    let taken_over = guest("process/taken_over.c", "pie").map(Cmd::new);
    let programs = guests.into_iter().chain([taken_over, Some(shell)]);
    for program in programs.flatten() {
        let files = Files::new();
        for reused in [false, true] {
            let mut run = Talk::start(&program);
            assert_eq!(run.says("one"), "got one\n");
            assert_eq!(files.attach("icount", &run.pid()), done());
            assert!(run.is_under_ppin());
            let (ended, message) = files.attach("icount", &run.pid());
            assert_eq!(ended, Ended::Exit(1));
            assert!(message.contains("runs under ppin"), "{message}");
            assert_eq!(run.says("two"), "got two\n");
            assert_eq!(run.end(), (Ended::Exit(0), "ok\n".to_owned()));
            let report = fs::read_to_string(files.path("report")).expect("a report");
            assert!(report.contains("instructions"), "{report}");
            let stats = Stats::one(&files.path("stats"));
            assert_eq!(
                stats.number("traces_reused") > 0,
                reused,
                "{}",
                program.shell()
            );
            fs::remove_file(files.path("stats")).expect("it is there");
        }
    }
}

#[test]
fn a_program_comes_and_goes() {
    let Some(program) = guest("process/taken_over.c", "pie") else {
        return;
    };
    let files = Files::new();
    let mut run = Talk::start(&Cmd::new(program));
    for _ in 0..12 {
        assert_eq!(files.attach("bbcount", &run.pid()), done());
        assert_eq!(run.says("here"), "got here\n");
        assert_eq!(verb(&files.ppin, &["detach"], &run.pid()), done());
        assert_eq!(run.says("there"), "got there\n");
    }
    assert_eq!(run.end(), (Ended::Exit(0), "ok\n".to_owned()));
}

/// A call that a signal interrupts while the program comes tells of it.
#[test]
fn no_timeout_is_lost() {
    let Some(program) = guest("process/timed_out.c", "pie") else {
        return;
    };
    let files = Files::new();
    for _ in 0..8 {
        let run = Talk::start(&Cmd::new(&program).args(["8"]));
        assert_eq!(files.attach("null", &run.pid()), done());
        assert_eq!(run.end(), (Ended::Exit(0), "ok\n".to_owned()));
    }
}

/// Answers numbers, each by a way of its own. What it maps readable may be executed (`READ_IMPLIES_EXEC`,
/// personality(2)): 135 is the number of that call. (64-bit programs begin without, and are followed with it.)
const MANY_WAYS: &str = r#"
$| = 1; syscall(135, 0x0400000) == -1 and die;
my @ways = (
    sub { my %h; $h{$_}++ for split /(o)|l/, "hello world" x 5; join ",", sort keys %h },
    sub { sprintf "%s %.3f %e %x", "a", sin(2), 1e10 / 3, 255 },
    sub { my $x = "a b c"; $x =~ s/(\w+)/<$1>/g; $x },
    sub { local $_ = "xyz"; tr/a-z/b-za/; scalar reverse $_ },
    sub { eval { die "x\n" }; $@ },
    sub { join "", map { chr } unpack "C*", pack "N n a5", 1, 2, "hey" },
    sub { my @a = (3, 1, 2); @a = sort { $b <=> $a } @a; splice @a, 1, 1; "@a" },
    sub { eval "1 + 2 * 3" },
    sub { ucfirst lc "ABC" . substr("hello", 1, 3) },
    sub { (stat "/")[2] },
    sub { local $SIG{ALRM} = sub { }; kill ALRM => $$; "k" },
);
while (my $line = <STDIN>) { my $found = $ways[$line % @ways]->(); print "got $line"; }
print "ok\n";
"#;

/// Kept code that was not let run yet must not run: where reading implied executing, it did.
#[test]
fn kept_code_waits_to_be_let_run() {
    let files = Files::new();
    let program = Cmd::new("perl").args(["-e", MANY_WAYS]);
    for n in 0..20 {
        let mut run = Talk::start(&program);
        for (place, word) in [n % 13, n * 7 % 13, n * 5 % 11].iter().enumerate() {
            assert_eq!(run.says(&word.to_string()), format!("got {word}\n"));
            if place == 0 {
                assert_eq!(files.attach("null", &run.pid()), done());
            }
        }
        assert_eq!(run.end(), (Ended::Exit(0), "ok\n".to_owned()));
    }
}

/// What `attach` says of process `pid`, which it does not attach to.
fn refusal(ppin: &Ppin, pid: &str) -> String {
    let (ended, message) = verb(ppin, &["attach", "--cache", "off"], pid);
    assert_eq!(ended, Ended::Exit(1), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn what_cannot_be_attached_to_goes_on_as_it_was() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    if let Some(filtered) = guest("sandbox/filtered_answers.c", "pie") {
        let mut run = Talk::start(&Cmd::new(filtered));
        assert_eq!(run.says("one"), "got one\n");
        assert!(refusal(&ppin, &run.pid()).contains("seccomp"));
        assert_eq!(run.says("two"), "got two\n");
        assert_eq!(run.end(), (Ended::Exit(0), "ok\n".to_owned()));
    }
    let mut run = Talk::start(&Cmd::new("cat"));
    let pid = Pid::from_raw(run.pid().parse().expect("a number"));
    assert_eq!(run.says("one"), "one\n");
    kill(pid, Signal::SIGSTOP).expect("it lives");
    while !refusal_is_of_a_stop(&ppin, &run.pid()) {}
    kill(pid, Signal::SIGCONT).expect("it lives");
    assert_eq!(run.says("two"), "two\n");
    ptrace::seize(pid, ptrace::Options::empty()).expect("it may be traced");
    assert!(refusal(&ppin, &run.pid()).contains("is traced by process"));
    ptrace::interrupt(pid).expect("it is traced");
    waitpid(pid, None).expect("it stops");
    ptrace::detach(pid, None).expect("it has stopped");
    assert_eq!(run.says("three"), "three\n");
    assert_eq!(run.end(), (Ended::Exit(0), String::new()));
    assert!(refusal(&ppin, "2147483647").contains("there is none"));
}

/// Whether the refusal is because it has stopped. (The signal takes a moment; a process that runs is attached to.)
fn refusal_is_of_a_stop(ppin: &Ppin, pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    if !stat.contains(") T ") {
        return false;
    }
    assert!(refusal(ppin, pid).contains("is stopped"));
    true
}

#[test]
fn wrong_words_are_wrong_use() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let (ended, message) = verb(&ppin, &["attach", "-o", "/dev/stdout"], "2147483647");
    assert_eq!(ended, Ended::Exit(2));
    assert!(message.contains("name a file"), "{message}");
    for word in ["0", "-1", "name", "99999999999"] {
        assert_eq!(verb(&ppin, &["attach"], word).0, Ended::Exit(2), "{word}");
    }
}
