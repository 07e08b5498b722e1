//! Starting programs: what is refused and how, exit statuses of our own, and what a
//! caller sees of the process.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::{Guest, write_program};
use ppin_tests::skip;
use ppin_tests::ways::{Scratch, three_ways};
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

fn refused(path: &Path, status: i32, word: &str) {
    let scratch = Scratch::new();
    let outcome = Ppin::new(&scratch.db()).wrap(&Cmd::new(path)).run();
    assert_eq!(
        outcome.ended,
        Ended::Exit(status),
        "{}: {outcome:?}",
        path.display()
    );
    assert!(outcome.stdout.is_empty(), "{outcome:?}");
    let said = outcome.errors().to_lowercase();
    assert!(
        said.starts_with("ppin") && said.contains(word),
        "{}: {outcome:?}",
        path.display()
    );
    assert_eq!(said.lines().count(), 1, "one sentence: {outcome:?}");
}

fn file(scratch: &Scratch, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
    let path = scratch.path().join(name);
    write_program(&path, bytes, mode);
    path
}

#[test]
fn what_cannot_run_is_refused_in_words() {
    let scratch = Scratch::new();
    refused(Path::new("/no/such/program"), 127, "no such file");
    refused(Path::new("no-such-program-on-path"), 127, "not found");
    refused(
        &file(&scratch, "plain", b"text\n", 0o644),
        126,
        "permission",
    );
    refused(Path::new("/"), 126, "directory");
    refused(&file(&scratch, "junk", b"\x7fELFjunk", 0o755), 126, "");
    refused(&file(&scratch, "empty", b"", 0o755), 126, "");
    refused(
        &file(&scratch, "interpreter", b"#!/no/such/interpreter\n", 0o755),
        127,
        "",
    );
}

#[test]
fn foreign_and_privileged_programs_are_refused() {
    let scratch = Scratch::new();
    let mut elf32 = fs::read("/bin/true").expect("true");
    elf32[4] = 1;
    refused(&file(&scratch, "elf32", &elf32, 0o755), 126, "32-bit");
    let mut arm = fs::read("/bin/true").expect("true");
    arm[18] = 183;
    refused(&file(&scratch, "arm", &arm, 0o755), 126, "");
    if skip::is_root() {
        return skip::skipped("an unreadable program", "root reads everything");
    }
    let real = fs::read("/bin/true").expect("true");
    refused(&file(&scratch, "unreadable", &real, 0o111), 126, "read");
}

/// Only who would gain something by them is refused: not root, whoever they belong to.
#[test]
fn setuid_and_setgid_programs_of_others_are_refused() {
    const NOBODY: u32 = 65534;
    let scratch = Scratch::new();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let real = fs::read("/usr/bin/id").expect("id");
    for (what, bit) in [("setuid", 0o4000), ("setgid", 0o2000)] {
        let program = file(&scratch, what, &real, bit | 0o755);
        three_ways(&Cmd::new(&program));
        if !skip::is_root() {
            skip::skipped("programs of others", "only root can make one");
            continue;
        }
        chown(&program, Some(NOBODY), Some(NOBODY)).expect("root may");
        fs::set_permissions(&program, fs::Permissions::from_mode(bit | 0o755)).expect("ours");
        let native = three_ways(&Cmd::new(&program));
        assert!(native.text().contains("65534"), "{}", native.text());
        let words = ["-c", &format!("{0}; {0}", program.display())];
        three_ways(&Cmd::new("/bin/sh").args(words));
        refused_to_users(&program, what);
    }
}

/// To run this program is refused to who is not root, and to root without its capabilities.
fn refused_to_users(program: &Path, what: &str) {
    let Some(setpriv) = skip::find_program("setpriv", "programs of others") else {
        return;
    };
    let cmd = Ppin::new(Path::new("/nonexistent")).wrap(&Cmd::new(program));
    for way in ["--reuid=65533", "--bounding-set=-sys_ptrace"] {
        let words = [way, "--clear-groups"].map(std::ffi::OsStr::new);
        let outcome = cmd.prefixed(&setpriv, &words).run();
        assert_eq!(outcome.ended, Ended::Exit(126), "{way}: {outcome:?}");
        assert!(outcome.errors().contains(what), "{way}: {outcome:?}");
    }
}

#[test]
fn wrong_use_says_so() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for args in [
        &["run"][..],
        &["run", "--no-such-option", "--", "true"],
        &["run", "-t", "no-such-tool", "--", "true"],
    ] {
        let outcome = ppin.verb(args).run();
        assert!(
            matches!(outcome.ended, Ended::Exit(2 | 125)),
            "{args:?}: {outcome:?}"
        );
        assert!(!outcome.errors().is_empty(), "{args:?}");
    }
    assert_eq!(ppin.verb(&["--version"]).run().ended, Ended::Exit(0));
    assert_eq!(ppin.verb(&["--help"]).run().ended, Ended::Exit(0));
    assert_eq!(ppin.verb(&["tool", "list"]).run().ended, Ended::Exit(0));
}

#[test]
fn programs_are_found_along_path() {
    let scratch = Scratch::new();
    let outcome = Ppin::new(&scratch.db())
        .wrap(&Cmd::new("echo").args(["a b", "", "c"]))
        .run_ok();
    assert_eq!(outcome.text(), "a b  c\n");
}

#[test]
fn scripts_run_with_their_interpreter() {
    let scratch = Scratch::new();
    let script = file(
        &scratch,
        "script",
        b"#!/bin/sh -u\necho \"$0 $*\"\nexit 9\n",
        0o755,
    );
    let chain = format!("#!{}\n", script.display());
    let outer = file(&scratch, "outer", chain.as_bytes(), 0o755);
    for path in [script, outer] {
        let native = three_ways(&Cmd::new(&path).args(["x", "y z"]));
        assert_eq!(native.ended, Ended::Exit(9));
    }
}

/// The shell's word for the parent of the program, and the program's own id: the
/// instrumented program is the process that the caller started.
#[test]
fn the_process_is_the_callers_child() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let native = Cmd::new("/bin/sh").args(["-c", "echo $PPID $$"]);
    for _ in 0..2 {
        let mut child = ppin.wrap(&native).to_std();
        let child = child
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("spawn");
        let pid = child.id();
        let output = child.wait_with_output().expect("wait");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text, format!("{} {pid}\n", std::process::id()));
    }
}

#[test]
fn standard_streams_pass_through() {
    let native = Cmd::new("/bin/cat").stdin(vec![b'x'; 3_000_000]);
    assert_eq!(three_ways(&native).stdout.len(), 3_000_000);
    let closed =
        Cmd::new("/bin/sh").args(["-c", "exec 0<&- 1>&- 2>&-; exec /bin/ls /proc/self/fd"]);
    three_ways(&closed);
}

/// What happens with descriptors 0, 1 and 2 closed by the caller already.
#[test]
fn closed_standard_streams_stay_closed() {
    let scratch = Scratch::new();
    let Some(exe) = Guest::load("start/descriptors.c").build("static") else {
        return;
    };
    let db = scratch.db();
    let inner = |prefix: String| -> Outcome {
        let script = format!("exec 0<&-; {prefix} {}", exe.display());
        Cmd::new("/bin/sh").args(["-c", &script]).run()
    };
    let native = inner(String::new());
    let ppin = ppin_tests::ppin::executable();
    let prefix = format!("{} run --db {} --", ppin.display(), db.display());
    for way in ["cold", "warm"] {
        assert_eq!(inner(prefix.clone()), native, "{way}");
    }
}

#[test]
fn dispositions_and_masks_are_inherited() {
    let scratch = Scratch::new();
    let Some(exe) = Guest::load("start/process_state.c").build("static") else {
        return;
    };
    let ppin = ppin_tests::ppin::executable();
    let run = |prefix: String| {
        let script = format!(
            "trap '' HUP USR2 PIPE; umask 037; ulimit -s 4096; exec {prefix} {}",
            exe.display()
        );
        Cmd::new("/bin/sh").args(["-c", &script]).run()
    };
    let native = run(String::new());
    let prefix = format!("{} run --db {} --", ppin.display(), scratch.db().display());
    for way in ["cold", "warm"] {
        assert_eq!(run(prefix.clone()), native, "{way}");
    }
}

/// Setuid children run natively, with their privileges.
#[test]
fn setuid_children_keep_their_privileges() {
    let Some(sudoish) = ["/usr/bin/su", "/bin/su"]
        .iter()
        .find(|path| Path::new(path).exists())
    else {
        return skip::skipped("setuid children", "no su");
    };
    three_ways(&Cmd::new("/bin/sh").args(["-c", &format!("{sudoish} --version; echo $?")]));
}

/// Limits that the launcher is under as well: it writes no file, and needs one descriptor.
#[test]
fn low_limits_do_not_stop_the_launch() {
    let scratch = Scratch::new();
    let limits = [
        "-f 0",
        "-f 1",
        "-n 4",
        "-n 5",
        "-n 8",
        "-l 0",
        "-v 100000",
        "-s 256",
        "-s unlimited",
    ];
    for limit in limits.into_iter().flat_map(|limit| [limit; 2]) {
        let script = format!("ulimit {limit}; exec \"$@\"");
        let words = ["-c", &script, "sh"].map(std::ffi::OsStr::new);
        let cmd = Cmd::new("/bin/echo").args(["x"]);
        let native = cmd.prefixed(Path::new("/bin/sh"), &words).run();
        let wrapped = Ppin::new(&scratch.db()).wrap(&cmd);
        let outcome = wrapped.prefixed(Path::new("/bin/sh"), &words).run();
        assert_eq!(outcome.ended, native.ended, "ulimit {limit}: {outcome:?}");
        assert_eq!(outcome.text(), native.text(), "ulimit {limit}");
    }
}

const NOTE: &str = "ppin: traced by process ";

/// Whether a tracer follows children or not, the program runs as a child that it does not
/// trace, and nobody but the tracer sees a difference.
#[test]
fn under_strace_the_program_runs_as_a_child() {
    let Some(strace) = skip::find_program("strace", "under strace") else {
        return;
    };
    for follow in ["-q", "-f"] {
        let words = [follow, "-o", "/dev/null"].map(std::ffi::OsStr::new);
        for (script, end) in ENDS {
            let scratch = Scratch::new();
            let wrapped = Ppin::new(&scratch.db()).wrap(&Cmd::new("/bin/sh").args(["-c", script]));
            let outcome = wrapped.prefixed(&strace, &words).run();
            let said = (outcome.text(), outcome.ended);
            assert_eq!(said, ("x\n".into(), end), "{follow} {script}");
            assert!(outcome.errors().starts_with(NOTE), "{outcome:?}");
        }
    }
}

const ENDS: [(&str, Ended); 4] = [
    ("echo x", Ended::Exit(0)),
    ("/bin/echo x | cat; exit 7", Ended::Exit(7)),
    ("echo x; kill -TERM $$", Ended::Signal(15)),
    ("echo x; ulimit -c 0; kill -SEGV $$", Ended::Signal(11)),
];

/// A process with several threads cannot be left to itself: it ends in words.
#[test]
fn threads_that_map_over_ppin_are_told_so() {
    let Some(exe) = Guest::load("special/claims_with_threads.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let outcome = Ppin::new(&scratch.db()).wrap(&Cmd::new(exe)).run();
    assert_eq!(outcome.ended, Ended::Exit(125), "{outcome:?}");
    assert_eq!(outcome.text(), "before\n");
    assert!(outcome.errors().contains("where ppin lies"), "{outcome:?}");
}

#[test]
fn under_gdb_the_program_runs_as_a_child() {
    let Some(gdb) = skip::find_program("gdb", "under gdb") else {
        return;
    };
    let scratch = Scratch::new();
    let script = "echo x; exit 7";
    let wrapped = Ppin::new(&scratch.db()).wrap(&Cmd::new("/bin/sh").args(["-c", script]));
    let words = ["-nx", "-q", "-batch", "-ex", "run", "--args"].map(std::ffi::OsStr::new);
    let outcome = wrapped.prefixed(&gdb, &words).run();
    assert!(
        outcome.text().lines().any(|line| line == "x"),
        "{outcome:?}"
    );
    assert!(
        outcome.text().contains("exited with code 07"),
        "{outcome:?}"
    );
    assert!(outcome.errors().contains(NOTE), "{outcome:?}");
}

/// A plain command line is understood before the C library has been started, all others later.
/// A line with a file for the report is plain, too.
#[test]
fn reports_are_the_same_however_a_program_is_launched() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    ppin.wrap(&Cmd::new("true")).run_ok();
    let folder = scratch.path();
    let report = |name: &str, more: &[&str]| {
        let file = folder.join(name);
        fs::write(&file, "of an earlier run").expect("writable");
        let words = ["-t", "icount", "-o", file.to_str().expect("UTF-8")];
        let ppin = ppin.with(&[&words, more].concat());
        let native = Cmd::new("sh").args(["-c", "echo out; exit 3"]);
        let outcome = ppin.wrap(&native).run();
        assert_eq!(
            (outcome.ended, outcome.text()),
            (Ended::Exit(3), "out\n".into())
        );
        assert_eq!(outcome.errors(), "");
        let text = fs::read_to_string(&file).expect("written");
        assert!(
            text.contains("icount: ") && !text.contains("earlier"),
            "{text}"
        );
        text.lines().count()
    };
    assert_eq!(
        report("plain", &[]),
        report("other", &["--format", "human"])
    );
    let stats = format!("--stats={}", folder.join("stats").display());
    for (more, lines) in [(&[][..], 1), (&["--format", "human"], 2)] {
        let ppin = ppin.with(&[&[stats.as_str()], more].concat());
        ppin.wrap(&Cmd::new("true")).run_ok();
        let text = fs::read_to_string(folder.join("stats")).expect("written");
        assert_eq!(text.lines().count(), lines, "they are added: {text}");
    }
    let nowhere = folder.join("none").join("x");
    let refused = ppin.with(&["-o", nowhere.to_str().expect("UTF-8")]);
    let outcome = refused.wrap(&Cmd::new("true")).run();
    assert_eq!(outcome.ended, Ended::Exit(125));
    assert!(
        outcome.errors().contains("cannot write the report"),
        "{outcome:?}"
    );
}

#[test]
fn plain_and_other_command_lines_start_programs_alike() {
    let scratch = Scratch::new();
    let local = file(
        &scratch,
        "local",
        &fs::read("/bin/echo").expect("echo"),
        0o755,
    );
    let plain = Ppin::new(&scratch.db());
    let other = plain.with(&["--format", "human"]);
    plain.wrap(&Cmd::new("true")).run_ok();
    let folder = scratch.path();
    for native in [
        Cmd::new("env").env("A", "1").env("EMPTY", ""),
        Cmd::new("ls").args(["-a", "--", "-t"]).cwd(folder),
        Cmd::new("./local").args(["x"]).cwd(folder),
        Cmd::new("local").env("PATH", ":/usr/bin").cwd(folder),
        Cmd::new("local").env("PATH", "/usr/bin").cwd(folder),
        Cmd::new("sh").args(["-c", "kill -TERM $$"]),
        Cmd::new("sh").args(["-c", "umask; ulimit -a; exit 3"]),
        Cmd::new("/no/such/program"),
        Cmd::new(folder),
        Cmd::new(""),
    ] {
        let [first, second] = [&plain, &other].map(|ppin| ppin.wrap(&native).run());
        assert_eq!(first.ended, second.ended, "{}", native.shell());
        assert_eq!(first.text(), second.text(), "{}", native.shell());
        assert_eq!(first.errors(), second.errors(), "{}", native.shell());
    }
    assert!(local.exists());
}
