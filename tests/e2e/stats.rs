//! The shape of `--stats`: JSON lines with the promised keys, one object per process.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::{KEYS, Stats};
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ppin};
use std::fs;

#[test]
fn every_promised_key_is_there() {
    let scratch = Scratch::new();
    let stats = stats_of(&scratch, &Cmd::new("/bin/true"));
    for key in KEYS {
        stats[0].at(key);
    }
    assert_eq!(stats.len(), 1);
    assert!(
        stats[0]
            .at("program")
            .as_str()
            .is_some_and(|name| name.ends_with("/true"))
    );
    assert!(stats[0].compiled() > 0, "{:?}", stats[0]);
    assert_eq!(stats[0].at("cache.mode").as_str(), Some("rw"));
}

/// The first run compiles what later ones take from disk, nearly all of it by links that
/// never come to the runtime.
#[test]
fn what_was_taken_from_disk_is_counted() {
    let scratch = Scratch::new();
    let ls = Cmd::new("/bin/ls").args(["-l", "/"]);
    let file = scratch.path().join("stats");
    let cold = &stats_of(&scratch, &ls)[0];
    assert!(cold.compiled() > 500 && cold.reused() == 0, "{cold:?}");
    fs::remove_file(&file).unwrap();
    let warm = &stats_of(&scratch, &ls)[0];
    assert!(warm.compiled() * 20 < cold.compiled(), "{warm:?}");
    assert!(
        warm.reused() * 10 > cold.compiled() * 9,
        "{cold:?} {warm:?}"
    );
    assert!(warm.reused() >= warm.number("traces_looked_up"), "{warm:?}");
    assert!(
        warm.reused() <= warm.number("fragments_validated"),
        "{warm:?}"
    );
}

/// A counter has many cells in each thread, unless that is switched off.
#[test]
fn the_memory_of_counters_is_told() {
    let scratch = Scratch::new();
    let bytes = |options: &[&str]| {
        let file = scratch.path().join("counters");
        let option = format!("--stats={}", file.display());
        let ppin = Ppin::new(&scratch.db()).with(&[&option, "-o", "/dev/null"]);
        ppin.with(options).wrap(&Cmd::new("/bin/true")).run();
        let told = Stats::one(&file).number("counter_bytes");
        fs::remove_file(&file).unwrap();
        told
    };
    assert_eq!(bytes(&["-t", "null"]), 0);
    assert_eq!(bytes(&["-t", "bbcount"]), 4096);
    assert_eq!(bytes(&["-t", "bbcount", "--optimize=-counters"]), 8);
}

/// The keys are a contract: what is written is what the README explains.
#[test]
fn the_readme_tells_of_every_key() {
    let scratch = Scratch::new();
    let stats = stats_of(&scratch, &Cmd::new("/bin/true"));
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let table = readme.split("### Statistics").nth(1).unwrap();
    let table = table.split("###").next().unwrap();
    for (key, value) in stats[0].0.as_object().unwrap() {
        assert!(table.contains(&format!("`{key}`")), "{key}");
        let inner = value.as_object().into_iter().flatten();
        for (inner, _) in inner.filter(|_| key != "check") {
            assert!(table.contains(&format!("`{inner}`")), "{key}.{inner}");
        }
    }
}

#[test]
fn each_followed_process_appends_one_object() {
    let scratch = Scratch::new();
    let stats = stats_of(
        &scratch,
        &Cmd::new("/bin/sh").args(["-c", "/bin/true; /bin/echo x; (exit 3); true"]),
    );
    let mut pids: Vec<u64> = stats.iter().map(|object| object.number("pid")).collect();
    // The shell, its two programs, and the subshell.
    assert_eq!(stats.len(), 4, "{stats:?}");
    pids.dedup();
    assert_eq!(pids.len(), 4, "{stats:?}");
}

#[test]
fn no_follow_leaves_children_alone() {
    let scratch = Scratch::new();
    let file = scratch.path().join("stats");
    let option = format!("--stats={}", file.display());
    let cmd = Cmd::new("/bin/sh").args(["-c", "/bin/true; /bin/echo x"]);
    let outcome = Ppin::new(&scratch.db())
        .with(&["--no-follow", &option])
        .wrap(&cmd)
        .run_ok();
    assert_eq!(outcome.text(), "x\n");
    let programs: Vec<String> = Stats::read(&file)
        .iter()
        .map(|s| s.at("program").to_string())
        .collect();
    assert!(
        !programs.iter().any(|name| name.contains("echo")),
        "{programs:?}"
    );
}

#[test]
fn processes_that_die_by_a_signal_report_too() {
    let Some(exe) = Guest::load("signal/death.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let file = scratch.path().join("stats");
    let option = format!("--stats={}", file.display());
    Ppin::new(&scratch.db())
        .with(&[&option])
        .wrap(&Cmd::new(exe).args(["fault"]))
        .run();
    assert!(Stats::one(&file).compiled() > 0);
}

#[test]
fn a_traced_process_says_that_it_was_left() {
    let Some(guest) = Guest::load("tracing/traced_children.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let stats = stats_of(&scratch, &Cmd::new(&guest));
    let left = |s: &&Stats| {
        s.at("native_children")
            .to_string()
            .contains("natively from")
    };
    // Two that ask for it, and four that are attached to.
    assert_eq!(stats.iter().filter(left).count(), 6, "{stats:?}");
}

/// Jumps that take turns at one place of a thread's table are brought there as long as the program runs, whatever it
/// has asked the runtime for before.
#[test]
fn jumps_are_learnt_after_calls_through_stubs() {
    let exe = Guest::load("image/turns_after_stubs.c").build("pie");
    let exe = exe.expect("the compiler makes PIEs");
    let misses = |turns: &str| {
        let stats = stats_of(&Scratch::new(), &Cmd::new(&exe).args([turns]));
        stats[0].number("ibl_misses")
    };
    // Every 64, 128, ... 65,536 of half a million.
    let (none, many) = (misses("0"), misses("1000000"));
    assert!(many >= none + 10, "{none} and {many}");
}

fn stats_of(scratch: &Scratch, cmd: &Cmd) -> Vec<Stats> {
    let file = scratch.path().join("stats");
    let option = format!("--stats={}", file.display());
    Ppin::new(&scratch.db()).with(&[&option]).wrap(cmd).run_ok();
    Stats::read(&file)
}

/// Data beside hot code, code that was patched and is not any more, and both in turns: hot
/// code is linked, and does not go through the VM.
#[test]
fn code_on_written_pages_stays_in_the_cache() {
    let exe = Guest::load("code/written_pages.c").build("pie");
    let exe = exe.expect("the compiler makes PIEs");
    for what in ["beside", "once", "turns"] {
        let scratch = Scratch::new();
        let stats = stats_of(&scratch, &Cmd::new(&exe).args([what, "1"]));
        // Half a million to twenty million times through a loop.
        assert!(stats[0].number("vm_entries") < 20_000, "{what}: {stats:?}");
    }
}
