//! Verbs end with what they made on the disk; runs never wait for it.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Executes its arguments under a filter that kills who waits for the disk.
const NEVER_WAITS: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define KILL(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
int main(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        KILL(SYS_fsync), KILL(SYS_fdatasync), KILL(SYS_sync), KILL(SYS_syncfs),
        KILL(SYS_sync_file_range), KILL(SYS_msync),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 120;
    execv(argv[1], argv + 1);
    return 121;
}
"#;

fn never_waits(dir: &Path) -> PathBuf {
    let (source, exe) = (dir.join("never_waits.c"), dir.join("never_waits"));
    fs::write(&source, NEVER_WAITS).unwrap();
    let mut gcc = Command::new("gcc");
    let status = gcc.arg("-o").arg(&exe).arg(&source).status();
    assert!(status.expect("gcc").success());
    exe
}

#[test]
fn runs_never_wait_for_the_disk() {
    let scratch = Scratch::new();
    let filter = never_waits(scratch.path());
    let cmd = Cmd::new("/bin/sh").args(["-c", "/bin/true; echo $((6 * 7))"]);
    // Cold, learning, and with a cap that makes it remove what it has.
    for size in ["1G", "1G", "100K", "100K"] {
        let ppin = Ppin::new(&scratch.db()).with(&["--max-size", size]);
        let outcome = ppin.wrap(&cmd).prefixed(&filter, &[]).run();
        assert_eq!(outcome.text(), "42\n", "{outcome:?}");
    }
    // The filter works: a verb does wait.
    let ppin = Ppin::new(&scratch.db());
    let db = scratch.db().display().to_string();
    let warm = ppin.verb(&["warm", "--db", &db, "--", "/bin/true"]);
    let ended = warm.prefixed(&filter, &[]).run().ended;
    assert!(matches!(ended, Ended::Signal(_)), "{ended:?}");
}

/// Files that a verb wrote to the disk, by name, as strace tells it.
fn synced(verb: &Cmd, log: &Path) -> Vec<String> {
    let words = ["-f", "-y", "-e", "trace=fsync,fdatasync", "-o"];
    let mut words: Vec<_> = words.iter().map(std::ffi::OsStr::new).collect();
    words.push(log.as_os_str());
    verb.prefixed(Path::new("/usr/bin/strace"), &words).run_ok();
    let text = fs::read_to_string(log).unwrap();
    let paths = text
        .lines()
        .filter_map(|line| line.split_once('<')?.1.split_once('>'));
    paths.map(|(path, _)| path.to_owned()).collect()
}

#[test]
fn verbs_end_with_what_they_made_on_the_disk() {
    if !Path::new("/usr/bin/strace").exists() {
        return skip::skipped("verbs on the disk", "there is no strace");
    }
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let db = scratch.db().display().to_string();
    let log = scratch.path().join("log");
    let units = |db: &str| -> Vec<String> {
        let mut find = Command::new("find");
        let found = find.args([db, "-name", "*.unit"]).output().unwrap();
        let text = String::from_utf8(found.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let warm = ppin.verb(&["warm", "--db", &db, "--", "/bin/true"]);
    let done = synced(&warm, &log);
    for unit in units(&db) {
        assert!(done.contains(&unit), "warm: {unit} of {done:?}");
        let folder = unit.rsplit_once('/').unwrap().0.to_owned();
        assert!(done.contains(&folder), "warm: {folder} of {done:?}");
    }
    assert!(
        done.contains(&db) && done.contains(&format!("{db}/units")),
        "{done:?}"
    );

    let file = scratch.path().join("exported");
    let name = file.display().to_string();
    let done = synced(&ppin.verb(&["db", "export", &name, "--db", &db]), &log);
    let folder = scratch.path().display().to_string();
    assert!(
        done.len() >= 2 && done.contains(&folder),
        "export: {done:?}"
    );

    let other = scratch.path().join("other").display().to_string();
    let done = synced(&ppin.verb(&["db", "import", &name, "--db", &other]), &log);
    assert!(!units(&other).is_empty());
    for path in units(&other)
        .iter()
        .chain([&other, &format!("{other}/units"), &folder])
    {
        let folder = path.rsplit_once('/').unwrap().0.to_owned();
        let known = done.contains(path) || done.contains(&folder);
        assert!(known, "import: {path} of {done:?}");
    }
}
