//! Many at once, killed at any moment, nowhere to write.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::skip;
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

fn command() -> Cmd {
    Cmd::new("/bin/sh").args(["-c", "echo $((6 * 7)); exit 3"])
}

fn with_stats(ppin: &Ppin, cmd: &Cmd, dir: &Path) -> (Outcome, Stats) {
    let file = dir.join("stats");
    let _ = fs::remove_file(&file);
    let outcome = ppin
        .with(&[&format!("--stats={}", file.display())])
        .wrap(cmd)
        .run();
    (outcome, Stats::one(&file))
}

#[test]
fn twenty_at_once_on_an_empty_database() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let right = command().run();
    thread::scope(|scope| {
        let runs: Vec<_> = (0..20)
            .map(|_| scope.spawn(|| ppin.wrap(&command()).run()))
            .collect();
        for run in runs {
            assert_eq!(run.join().expect("run"), right);
        }
    });
    let (outcome, stats) = with_stats(&ppin, &command(), scratch.path());
    assert_eq!(outcome, right);
    assert!(stats.reused() > 0 && stats.is_warm(), "{stats:?}");
}

/// A thread that has just been told where to go on must find that code there, though
/// another fills the cache meanwhile.
#[test]
fn threads_while_the_cache_overflows() {
    while_the_cache_overflows("thread/many_short.c");
}

/// A thread that has just found its target in its table must be able to read it, though another
/// empties the tables meanwhile.
#[test]
fn indirect_branches_while_the_cache_overflows() {
    while_the_cache_overflows("thread/branches_while_flushed.c");
}

/// Flushed code is not kept for threads that wait in the kernel, but for the pieces that they wait in.
#[test]
fn threads_that_wait_while_the_cache_overflows() {
    nothing_is_kept_for_waiting("thread/waiting_while_flushed.c");
}

/// The same for those that wait in calls that the VM makes for them, since these change the signal mask.
#[test]
fn threads_that_wait_with_another_mask_while_the_cache_overflows() {
    nothing_is_kept_for_waiting("thread/asleep_while_flushed.c");
}

fn nothing_is_kept_for_waiting(guest: &str) {
    while_the_cache_overflows(guest);
    let Some(exe) = Guest::load(guest).build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let small = ["--engine-option", "cache-limit=192K"];
    let ppin = Ppin::new(&scratch.db()).with(&small);
    let (_, stats) = with_stats(&ppin, &Cmd::new(&exe), scratch.path());
    let (flushes, most) = (stats.number("flushes"), stats.number("flushed_bytes"));
    assert!(flushes > 50 && most < 20 * (192 << 10), "{stats:?}");
}

fn while_the_cache_overflows(guest: &str) {
    let Some(exe) = Guest::load(guest).build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let small = ["--engine-option", "cache-limit=192K"];
    let ppin = Ppin::new(&scratch.db()).with(&small);
    let cmd = Cmd::new(&exe).timeout(Duration::from_secs(60));
    let right = cmd.run();
    for _ in 0..5 {
        assert_eq!(ppin.wrap(&cmd).run(), right);
    }
}

#[test]
fn killed_at_any_moment() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let right = command().run();
    for delay in 0..40 {
        let mut child = ppin.wrap(&command()).to_std();
        child
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = child.spawn().expect("spawn");
        thread::sleep(Duration::from_micros(delay * delay * 25));
        let _ = child.kill();
        let _ = child.wait();
        if delay % 8 == 7 {
            assert_eq!(
                ppin.wrap(&command()).run(),
                right,
                "after a kill at step {delay}"
            );
        }
    }
    let (outcome, stats) = with_stats(&ppin, &command(), scratch.path());
    assert_eq!(outcome, right);
    assert!(stats.reused() > 0, "{stats:?}");
}

#[test]
fn a_read_only_database_is_used_and_left_alone() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let right = command().run();
    assert_eq!(ppin.wrap(&command()).run(), right);
    if skip::is_root() {
        return skip::skipped("a read-only database", "root may write everywhere");
    }
    fs::set_permissions(scratch.db(), fs::Permissions::from_mode(0o500)).expect("mode");
    let other = Cmd::new("/bin/ls").args(["/"]);
    let outcome = ppin.wrap(&other).run();
    fs::set_permissions(scratch.db(), fs::Permissions::from_mode(0o700)).expect("mode");
    assert_eq!(outcome, other.run());
}

/// No home, or one that cannot be written: the program runs without a database.
#[test]
fn nowhere_to_put_a_database_is_no_failure() {
    let ppin = Ppin::new(Path::new("/unused"));
    for home in ["/dev/null", "/proc"] {
        let args = ["run", "--", "/bin/sh", "-c", "echo $((6 * 7)); exit 3"];
        let outcome = ppin
            .verb(&args)
            .env("HOME", home)
            .env("XDG_CACHE_HOME", "")
            .run();
        assert_eq!(outcome, command().run(), "{home}");
    }
}

/// A database that was asked for by name and cannot be trusted is another matter.
#[test]
fn a_database_that_others_may_write_is_refused() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    assert_eq!(ppin.wrap(&command()).run(), command().run());
    fs::set_permissions(scratch.db(), fs::Permissions::from_mode(0o777)).expect("mode");
    let outcome = ppin.wrap(&command()).run();
    assert_eq!(outcome.ended, Ended::Exit(125), "{outcome:?}");
    assert!(outcome.errors().contains("not trusted"), "{outcome:?}");
}

/// A file system of a few blocks, which the first units fill.
#[test]
fn a_full_disk_is_a_note() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("small");
    fs::create_dir(&dir).expect("folder");
    let flags = nix::mount::MsFlags::empty();
    if let Err(e) = nix::mount::mount(
        Some("none"),
        &dir,
        Some("tmpfs"),
        flags,
        Some("size=64k,mode=700"),
    ) {
        return skip::skipped("a full disk", &format!("no tmpfs may be mounted: {e}"));
    }
    let ppin = Ppin::new(&dir.join("db"));
    let right = command().run();
    let outcomes: Vec<Outcome> = (0..3).map(|_| ppin.wrap(&command()).run()).collect();
    let litter = fs::read_dir(&dir).map(Iterator::count).unwrap_or_default();
    nix::mount::umount(&dir).expect("unmount");
    for outcome in outcomes {
        assert_eq!(outcome, right);
    }
    assert!(litter <= 1, "{litter} entries beside the database");
}

#[test]
fn programs_see_no_difference_when_stopped_by_their_caller() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let cmd = Cmd::new("/bin/sleep")
        .args(["30"])
        .timeout(Duration::from_millis(700));
    assert_eq!(ppin.wrap(&cmd).run().ended, Ended::TimedOut);
}
