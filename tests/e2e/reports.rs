//! A report, statistics, a log and a tool's own file are never lost: what cannot be written
//! is refused before the program starts, or told on standard error at its end. Neither
//! changes how the program ends.

#![allow(missing_docs, reason = "tests")]

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A place where every write fails with "no space left on device".
const FULL: &str = "/dev/full";

fn ppin(scratch: &Scratch, options: &[&str]) -> Ppin {
    Ppin::new(&scratch.db()).with(options)
}

fn shell(script: &str) -> Cmd {
    Cmd::new("/bin/sh").args(["-c", script])
}

fn path(scratch: &Scratch, name: &str) -> String {
    scratch.path().join(name).display().to_string()
}

/// The options by which a run writes to `file`, each with the tool that it needs.
fn outputs(file: &str) -> Vec<Vec<String>> {
    let all = [
        vec!["-t", "bbcount", "-o", file],
        vec!["--stats=@"],
        vec!["--log", file],
        vec!["-t", "memtrace", "--knob", "file=@"],
    ];
    let words = |option: Vec<&str>| option.iter().map(|word| word.replace('@', file)).collect();
    all.into_iter().map(words).collect()
}

fn run(scratch: &Scratch, options: &[String], cmd: &Cmd) -> Outcome {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    ppin(scratch, &options).wrap(cmd).run()
}

#[test]
fn what_cannot_be_written_is_refused_before_the_program_starts() {
    let scratch = Scratch::new();
    let (folder, missing) = (path(&scratch, ""), path(&scratch, "no/such/folder"));
    let below_a_file = path(&scratch, "file/x");
    fs::write(path(&scratch, "file"), "").unwrap();
    for (file, why) in [
        (folder, "Is a directory"),
        (missing, "No such file or directory"),
        (below_a_file, "Not a directory"),
        ("/proc/none".to_owned(), "No such file or directory"),
    ] {
        for options in outputs(&file) {
            let outcome = run(&scratch, &options, &shell("echo ran; exit 3"));
            assert_eq!(outcome.ended, Ended::Exit(125), "{options:?} {outcome:?}");
            assert_eq!(outcome.text(), "", "{options:?}");
            let said = outcome.errors();
            assert!(said.starts_with("ppin: cannot write the "), "{said}");
            assert!(said.contains(why) && said.contains(&file), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}

#[test]
fn what_a_full_disk_refuses_goes_to_standard_error() {
    let scratch = Scratch::new();
    let [report, stats, log, trace] = outputs(FULL).try_into().unwrap();
    let lost = |options: &[String]| {
        let outcome = run(&scratch, options, &shell("echo ran; exit 3"));
        let ended = (outcome.ended, outcome.text());
        assert_eq!(ended, (Ended::Exit(3), "ran\n".to_owned()), "{options:?}");
        let said = outcome.errors();
        assert!(said.contains("No space left on device"), "{said}");
        said
    };
    assert!(lost(&report).contains("blocks"));
    assert!(lost(&stats).contains("\"traces_compiled\":"));
    assert!(lost(&log).contains("log /dev/full is not complete"));
    assert!(lost(&trace).contains("is incomplete"));
}

/// All of coreutils close their output and their errors before they exit.
#[test]
fn it_goes_there_also_if_the_program_has_closed_it() {
    let scratch = Scratch::new();
    for options in outputs(FULL) {
        let outcome = run(&scratch, &options, &Cmd::new("/bin/ls").args(["-d", "/"]));
        let ended = (outcome.ended, outcome.text());
        assert_eq!(ended, (Ended::Exit(0), "/\n".to_owned()), "{options:?}");
        let said = outcome.errors();
        assert!(said.contains("No space left"), "{options:?} {said}");
    }
}

#[test]
fn a_folder_that_is_gone_loses_no_report() {
    let scratch = Scratch::new();
    let folder = path(&scratch, "folder");
    fs::create_dir(&folder).unwrap();
    let options = ["-t", "bbcount", "-o", &format!("{folder}/report")];
    let outcome = ppin(&scratch, &options)
        .wrap(&shell(&format!("rm -r {folder}; exit 3")))
        .run();
    assert_eq!(outcome.ended, Ended::Exit(3));
    let said = outcome.errors();
    assert!(
        said.contains("No such file") && said.contains("blocks"),
        "{said}"
    );
}

fn sections(file: &Path) -> usize {
    let text = fs::read_to_string(file).unwrap();
    text.matches("(process ").count()
}

#[test]
fn each_run_begins_anew_and_its_children_append() {
    let scratch = Scratch::new();
    let file = PathBuf::from(path(&scratch, "report"));
    let options = ["-t", "bbcount", "-o", file.to_str().unwrap()];
    // The shell, a subshell, a program, and the shell again as another one.
    let script = "(exit 1); /bin/true; exec /bin/sleep 0.1";
    for _ in 0..2 {
        ppin(&scratch, &options).wrap(&shell(script)).run_ok();
        assert_eq!(sections(&file), 4, "{}", fs::read_to_string(&file).unwrap());
    }
    ppin(&scratch, &options)
        .wrap(&Cmd::new("/bin/true"))
        .run_ok();
    assert_eq!(sections(&file), 1);
}

/// The parent's run is over, and its folder is not where the child is.
#[test]
fn a_child_that_outlives_the_run_appends_to_the_same_file() {
    let scratch = Scratch::new();
    let folder = path(&scratch, "from here");
    fs::create_dir(&folder).unwrap();
    let options = ["-t", "bbcount", "-o", "report"];
    let script = "cd /; (sleep 0.5; exit 4) >/dev/null 2>&1 </dev/null & exit 3";
    let outcome = ppin(&scratch, &options)
        .wrap(&shell(script))
        .cwd(Path::new(&folder))
        .run();
    assert_eq!(outcome.ended, Ended::Exit(3));
    let file = Path::new(&folder).join("report");
    // The shell, its child and the sleep.
    for _ in 0..100 {
        if sections(&file) == 3 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{}", fs::read_to_string(&file).unwrap());
}

#[test]
fn each_process_gets_a_file_of_its_own_where_it_was_meant() {
    let scratch = Scratch::new();
    let folder = path(&scratch, "files");
    fs::create_dir(&folder).unwrap();
    let script = "cd /tmp; /bin/true; exit 3";
    for options in [
        &["-t", "bbcount", "-o", "file.%p.out"][..],
        &["-t", "memtrace", "-o", "/dev/null"],
    ] {
        let cmd = ppin(&scratch, options).wrap(&shell(script));
        let outcome = cmd.cwd(Path::new(&folder)).run();
        assert_eq!(
            (outcome.ended, outcome.errors()),
            (Ended::Exit(3), String::new())
        );
        let made: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(made.len(), 2, "{made:?}");
        for file in made {
            let path = file.unwrap().path();
            assert!(path.metadata().unwrap().len() > 0, "{path:?}");
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_tools_file_begins_anew_with_each_run() {
    let scratch = Scratch::new();
    let file = path(&scratch, "trace");
    let options = [
        "-t",
        "memtrace",
        "--knob",
        &format!("file={file}"),
        "-o",
        "/dev/null",
    ];
    let sizes = [(); 2].map(|()| {
        ppin(&scratch, &options)
            .wrap(&Cmd::new("/bin/true"))
            .run_ok();
        fs::metadata(&file).unwrap().len()
    });
    assert!(sizes[1] < sizes[0] * 3 / 2, "{sizes:?}");
}

#[test]
fn a_fifo_that_nobody_reads_holds_nothing_up() {
    let scratch = Scratch::new();
    let fifo = path(&scratch, "fifo");
    mkfifo(Path::new(&fifo), Mode::S_IRWXU).unwrap();
    let options = ["-t", "bbcount", "-o", &fifo];
    let cmd = ppin(&scratch, &options).wrap(&shell("exit 3"));
    let outcome = cmd.timeout(std::time::Duration::from_secs(20)).run();
    assert_eq!(outcome.ended, Ended::Exit(3));
    assert!(outcome.errors().contains("blocks"), "{outcome:?}");
    // A reader that is there gets it.
    let ours = ppin(&scratch, &options).wrap(&Cmd::new("/bin/sleep").args(["0.3"]));
    let script = format!("cat {fifo} >{fifo}.out & {}; wait", ours.shell());
    assert_eq!(shell(&script).run_ok().errors(), "");
    let read = fs::read_to_string(format!("{fifo}.out")).unwrap();
    assert!(read.contains("blocks"), "{read}");
}

/// Behind what the program has written, before what others write, and what was there stays.
#[test]
fn standard_output_takes_a_report_in_its_place() {
    let scratch = Scratch::new();
    let file = path(&scratch, "out");
    let ours = ppin(&scratch, &["-t", "bbcount", "-o", "/dev/stdout"]);
    let ours = ours.wrap(&shell("echo program")).shell();
    fs::write(&file, "before\n").unwrap();
    shell(&format!("{{ {ours}; echo after; }} >>{file}")).run_ok();
    shell(&format!("{{ {ours}; echo after; }} >{file}.new")).run_ok();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("before\nprogram\n") && text.ends_with("\nafter\n"),
        "{text}"
    );
    assert!(text.contains("blocks"), "{text}");
    let text = fs::read_to_string(format!("{file}.new")).unwrap();
    assert!(
        text.starts_with("program\n") && text.ends_with("\nafter\n"),
        "{text}"
    );
    assert!(text.contains("blocks"), "{text}");
}

/// What goes through a pipe between two children is theirs.
#[test]
fn reports_for_standard_output_stay_out_of_other_pipes() {
    let scratch = Scratch::new();
    let outcome = ppin(&scratch, &["-t", "bbcount", "-o", "/dev/stdout"])
        .wrap(&shell("/bin/echo a | wc -c; exit 3"))
        .run();
    assert_eq!(outcome.ended, Ended::Exit(3));
    assert!(
        outcome.text().lines().any(|line| line == "2"),
        "{outcome:?}"
    );
}

#[test]
fn neither_a_closed_pipe_nor_a_limit_of_size_ends_the_program() {
    let scratch = Scratch::new();
    let report = path(&scratch, "report");
    fs::write(&report, "x".repeat(4096)).unwrap();
    let run = |options: &[&str], script: &str| ppin(&scratch, options).wrap(&shell(script)).shell();
    let (pipe, full) = (
        // A report is due at the exec, whose program must not get a signal for it.
        run(&["-t", "bbcount"], "sleep 0.3; exec /bin/sh -c 'exit 3'"),
        run(
            &["-t", "bbcount", "-o", &report],
            "ulimit -f 0; exec /bin/sh -c 'exit 3'",
        ),
    );
    let bash = Cmd::new("/bin/bash");
    let script = format!("{{ {pipe}; echo $? >&3; }} 3>&1 2> >(exec true)");
    assert_eq!(bash.clone().args(["-c", &script]).run().text(), "3\n");
    let said = bash.args(["-c", &format!("{full}; echo $?")]).run();
    assert_eq!(said.text(), "3\n", "{said:?}");
}

/// A report is not refused for what only statistics need, and the other way round.
#[test]
fn everything_goes_to_one_file_if_it_is_told_to() {
    let scratch = Scratch::new();
    let file = path(&scratch, "all");
    let stats = format!("--stats={file}");
    let options = ["-t", "bbcount", "--format", "json", "-o", &file, &stats];
    for _ in 0..2 {
        ppin(&scratch, &options)
            .wrap(&Cmd::new("/bin/true"))
            .run_ok();
        assert_eq!(Stats::read(Path::new(&file)).len(), 2);
    }
}

/// Statistics of several runs are gathered in one file.
#[test]
fn statistics_are_appended() {
    let scratch = Scratch::new();
    let file = path(&scratch, "stats");
    let option = format!("--stats={file}");
    for runs in 1..3 {
        ppin(&scratch, &[&option])
            .wrap(&Cmd::new("/bin/true"))
            .run_ok();
        assert_eq!(Stats::read(Path::new(&file)).len(), runs);
    }
}

#[test]
fn what_the_user_may_not_write_to_is_refused() {
    if ppin_tests::skip::is_root() {
        // Root may write anywhere: another user is tried.
        let Some(runuser) = ppin_tests::skip::find_program("setpriv", "as another user") else {
            return;
        };
        let scratch = Scratch::new();
        let words = ["--reuid=65534", "--regid=65534", "--clear-groups"].map(OsStr::new);
        let cmd = Cmd::new(ppin_tests::ppin::executable()).args([
            "run",
            "--cache",
            "off",
            "-t",
            "bbcount",
            "-o",
            "/usr/report",
            "--",
            "/bin/true",
        ]);
        let outcome = cmd.prefixed(&runuser, &words).cwd(scratch.path()).run();
        let said = outcome.errors();
        if said.contains("ppin: ") {
            assert!(said.contains("Permission denied"), "{said}");
            assert_eq!(outcome.ended, Ended::Exit(125), "{said}");
        } else {
            ppin_tests::skip::skipped("another user", "it cannot reach the executable");
        }
        return;
    }
    let scratch = Scratch::new();
    let options = ["-t", "bbcount", "-o", "/usr/report"];
    let outcome = ppin(&scratch, &options).wrap(&shell("exit 3")).run();
    assert_eq!(outcome.ended, Ended::Exit(125), "{outcome:?}");
}
