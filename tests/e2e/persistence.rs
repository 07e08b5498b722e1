//! What a run leaves behind, and what the next one makes of it.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::ways::{Scratch, keep_addresses};
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn stats_run(ppin: &Ppin, cmd: &Cmd, dir: &Path) -> (Outcome, Stats) {
    let file = dir.join("stats");
    let _ = fs::remove_file(&file);
    let outcome = ppin
        .with(&[&format!("--stats={}", file.display())])
        .wrap(cmd)
        .run();
    assert_ne!(outcome.ended, Ended::Exit(125), "{outcome:?}");
    (outcome, Stats::one(&file))
}

/// The children of a shell run code that it never runs itself. What the first of them had to ask
/// the VM for, the others find done.
#[test]
fn forked_children_profit_from_those_before_them() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    // Much that the shell runs itself: what its children add stays a unit of its own, to be asked for.
    let much = "for n in 1 2; do set -- a b; case $1 in a) printf '%s\n' ${2%c} ${x:-c};; esac; \
                test -d / && read x < /dev/null; umask; type cd; cd /; pwd; f() { return 0; }; f; \
                export A=1; unset A; eval 'B=2'; getopts ab o -a; times; ulimit -n; done";
    let shell = |script| Cmd::new("/bin/sh").args(["-c", script]);
    ppin.wrap(&shell(much)).run_ok();
    let cmd = shell("for n in 1 2 3 4 5 6; do (echo $n); done");
    for _ in 0..3 {
        ppin.wrap(&cmd).run_ok();
    }
    // (A start plan spares the first one, too.)
    let plan = |path: &&String| path.ends_with("start.plan");
    let plans: Vec<String> = listing(&scratch.db()).into_keys().collect();
    for path in plans.iter().filter(plan) {
        fs::remove_file(path).expect("it is ours");
    }
    let file = scratch.path().join("stats");
    let counted = ppin.with(&[&format!("--stats={}", file.display())]);
    let outcome = counted.wrap(&cmd).run_ok();
    assert_eq!(outcome.text(), "1\n2\n3\n4\n5\n6\n");
    // Each child reports when it ends, and the shell waits for it.
    let all = Stats::read(&file);
    let entries: Vec<u64> = all.iter().map(|stats| stats.number("vm_entries")).collect();
    let [first, .., last, _shell] = entries[..] else {
        panic!("seven processes: {entries:?}");
    };
    assert!(2 * last < first, "{entries:?}");
}

/// What such code leaves is written once; the code beside it is taken from disk, as all other.
#[test]
fn code_that_is_another_one_in_each_run_is_not_kept_again() {
    let exe = Guest::load("image/patched_each_time.c").build("pie");
    let cmd = Cmd::new(exe.expect("the compiler makes PIEs"));
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let right = cmd.run();
    let units = || {
        let all = listing(&scratch.db()).into_iter();
        all.filter(|(path, _)| path.ends_with(".unit"))
            .collect::<BTreeMap<_, _>>()
    };
    let run = || {
        let (outcome, stats) = stats_run(&ppin, &cmd, scratch.path());
        assert_eq!(outcome, right);
        (stats.compiled(), stats.rejections().len())
    };
    for _ in 0..2 {
        run();
    }
    let kept = units();
    for _ in 0..3 {
        let (compiled, rejections) = run();
        assert!((1..12).contains(&compiled), "{compiled}");
        assert_eq!((rejections, units()), (1, kept.clone()));
    }
}

/// Name, size, inode and mtime of every file below a folder.
fn listing(dir: &Path) -> BTreeMap<String, (u64, u64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)
            .expect("database folder")
            .map(|entry| entry.unwrap())
        {
            let meta = entry.metadata().expect("metadata");
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                let facts = (meta.len(), meta.ino(), meta.mtime(), meta.mtime_nsec());
                found.insert(entry.path().display().to_string(), facts);
            }
        }
    }
    found
}

#[test]
fn true_compiles_hardly_anything_in_twenty_later_runs() {
    hardly_anything_is_compiled_later(&Cmd::new("/bin/true"), 20);
}

#[test]
fn static_programs_compile_hardly_anything_in_twenty_later_runs() {
    for variant in ["static", "static-pie", "musl"] {
        let guest = Guest::load("flow/calls.c");
        let Some(exe) = guest.build(variant) else {
            continue;
        };
        hardly_anything_is_compiled_later(&Cmd::new(exe), 20);
    }
}

#[test]
fn what_follows_a_spawn_is_saved() {
    let guest = Guest::load("process/spawn_as_the_same_user.c");
    let exe = guest.build("pie").expect("the compiler makes PIEs");
    let scratch = Scratch::new();
    // The child would be a second line in the statistics.
    let ppin = Ppin::new(&scratch.db()).with(&["--no-follow"]);
    let mut compiled = Vec::new();
    for _ in 0..4 {
        let (_, stats) = stats_run(&ppin, &Cmd::new(&exe), scratch.path());
        compiled.push(stats.compiled());
    }
    // (Some later run may meet a path that depends on its addresses.)
    assert!(compiled[0] > 0 && compiled.contains(&0), "{compiled:?}");
}

#[test]
fn a_program_without_free_descriptors_is_saved() {
    let guest = Guest::load("process/all_descriptors_used.c");
    let exe = guest.build("pie").expect("the compiler makes PIEs");
    hardly_anything_is_compiled_later(&Cmd::new(exe), 3);
}

/// A program that maps its own file once more, as V8 does with its built-in functions, far
/// from where it was loaded.
#[test]
fn a_file_that_is_mapped_low_and_high_is_warm_later() {
    let Some(exe) = Guest::load("image/executable_twice.c").build("nopie") else {
        return;
    };
    hardly_anything_is_compiled_later(&Cmd::new(exe), 6);
}

/// What is translated ahead may be no code, and refer to what no unit reaches: all else is
/// saved without it.
#[test]
fn what_is_out_of_reach_does_not_keep_the_rest_from_being_saved() {
    let guest = Guest::load("flow/never_taken_far_branch.c");
    let exe = guest.build("pie").expect("the compiler makes PIEs");
    hardly_anything_is_compiled_later(&Cmd::new(exe), 3);
}

/// Its units hold code of both segments, and those of none are refused for the other.
#[test]
fn segments_at_different_distances_from_the_file_are_one_image() {
    let guest = Guest::load("image/segments_at_distances.c");
    for variant in ["pie", "nopie", "static", "static-pie"] {
        let Some(exe) = guest.build(variant) else {
            continue;
        };
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        later_runs_compile_hardly_anything(&ppin, &Cmd::new(exe), 4, &scratch);
        assert_is_made_again(&ppin);
    }
}

/// A library of that kind that is loaded twice is two images of one file.
#[test]
fn segments_of_a_library_go_with_their_load() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    let library = r#"
        #define FAR __attribute__((section(".farcode"), noinline))
        static int calls;
        FAR int far(int a) { int s = 0; for (int n = 0; n < a; n++) s += n % 3; return s + ++calls; }
        int near(int a) { return far(a) * 3 + far(a + 1); }
    "#;
    let program = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
            int (*one)(int) = dlsym(dlopen(argv[1], RTLD_NOW), "near");
            int (*two)(int) = dlsym(dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW), "near");
            printf("%d %d %d\n", one(5), two(6), one(7));
            return one == two;
        }
    "#;
    fs::write(dir.join("lib.c"), library).expect("source");
    fs::write(dir.join("main.c"), program).expect("source");
    let far = "-Wl,-z,separate-code,--section-start=.farcode=0x1000000";
    let gcc = |args: &[&str]| {
        Cmd::new("/usr/bin/gcc").args(args).cwd(dir).run_ok();
    };
    gcc(&["-O1", "-shared", "-fPIC", far, "-o", "lib.so", "lib.c"]);
    gcc(&["-o", "main", "main.c", "-ldl"]);
    let ppin = Ppin::new(&scratch.db());
    let cmd = Cmd::new(dir.join("main")).args([dir.join("lib.so")]);
    later_runs_compile_hardly_anything(&ppin, &cmd, 4, &scratch);
    assert_is_made_again(&ppin);
}

/// What is mapped of a script is its interpreter.
#[test]
fn code_of_an_interpreter_is_kept_as_that_of_its_own_file() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let script = scratch.path().join("script");
    std::fs::write(&script, "#!/bin/sh\necho script\n").expect("the folder is ours");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("the file is ours");
    let ppin = Ppin::new(&scratch.db());
    ppin.wrap(&Cmd::new(&script)).run_ok();
    ppin.wrap(&Cmd::new("/bin/sh").args(["-c", "$0", script.to_str().expect("plain")]))
        .run_ok();
    assert_is_made_again(&ppin);
}

/// Everything that is kept is found in the files that it was made from.
fn assert_is_made_again(ppin: &Ppin) {
    let db = ppin.db().to_str().expect("a path in UTF-8");
    let words = [
        "db",
        "verify",
        "--recompile",
        "--format",
        "json",
        "--db",
        db,
    ];
    let verified = ppin.verb(&words);
    let said = verified.run_ok().text();
    let outcome: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let again = &outcome["recompile"];
    assert!(again["compared"].as_u64() > Some(0), "{said}");
    assert_eq!(again["skipped"], serde_json::json!([]), "{said}");
    assert_eq!(again["differ"], serde_json::json!([]), "{said}");
}

fn hardly_anything_is_compiled_later(cmd: &Cmd, runs: usize) {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    later_runs_compile_hardly_anything(&ppin, cmd, runs, &scratch);
}

fn later_runs_compile_hardly_anything(ppin: &Ppin, cmd: &Cmd, runs: usize, scratch: &Scratch) {
    let (first, cold) = stats_run(ppin, cmd, scratch.path());
    assert!(cold.compiled() > 0, "{cold:?}");
    let mut late = 0;
    for run in 1..=runs {
        let (outcome, warm) = stats_run(ppin, cmd, scratch.path());
        assert_eq!(outcome, first, "run {run}");
        assert!(warm.is_warm(), "run {run} of {}: {warm:?}", cmd.shell());
        assert_eq!(warm.rejections(), [""; 0], "run {run} of {}", cmd.shell());
        assert!(
            warm.reused() > 0 && warm.number("units_mapped") > 0,
            "{warm:?}"
        );
        assert_eq!(warm.at("cache.hit").as_bool(), Some(true), "{warm:?}");
        late += if run > 5 { warm.compiled() } else { 0 };
    }
    assert!(100 * late <= cold.compiled(), "{late} late: {cold:?}");
}

/// What the compiler's mechanisms make is kept apart, and made again with the same ones.
#[test]
fn every_choice_of_mechanisms_has_a_cache_of_its_own() {
    let exe = Guest::load("flow/calls.c").build("pie");
    let exe = exe.expect("the compiler makes PIEs");
    let scratch = Scratch::new();
    let all = Ppin::new(&scratch.db()).with(&["-t", "bbcount", "-o", "/dev/null"]);
    let none = all.with(&["--optimize=none"]);
    let by_name = all.with(&["--optimize=all"]);
    let cmd = Cmd::new(&exe);
    for ppin in [&all, &none] {
        later_runs_compile_hardly_anything(ppin, &cmd, 2, &scratch);
    }
    assert!(stats_run(&by_name, &cmd, scratch.path()).1.is_warm());
    assert_is_made_again(&none);
}

/// Nobody who waits for a program waits for ppin's learning: a run translates beside what it
/// had to translate, and the rest is for `ppin warm`.
#[test]
fn runs_do_not_explore_and_warming_does() {
    keep_addresses();
    let exe = Guest::load("flow/calls.c").build("static");
    let exe = exe.expect("static programs can be linked");
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let anticipated = || {
        let (_, stats) = stats_run(&ppin, &Cmd::new(&exe), scratch.path());
        // Beside a path that is new it may add some.
        (stats.compiled() == 0).then(|| stats.number("traces_anticipated"))
    };
    anticipated();
    for _ in 0..3 {
        let kept = listing(&scratch.db());
        if let Some(anticipated) = anticipated() {
            assert_eq!(anticipated, 0);
            assert_eq!(listing(&scratch.db()), kept);
        }
    }
    let kept = listing(&scratch.db());
    let db = scratch.db();
    let words = [
        "warm",
        "--db",
        db.to_str().unwrap(),
        "--",
        exe.to_str().unwrap(),
    ];
    let warmed = ppin.verb(&words).run();
    assert!(warmed.errors().contains(" explored"), "{warmed:?}");
    let explored = listing(&scratch.db());
    assert_ne!(explored, kept);
    assert_eq!(anticipated(), Some(0));
    assert_eq!(listing(&scratch.db()), explored);
}

/// Exploring ends before the cache is full: a flush would take away what it adds to.
#[test]
fn what_is_explored_does_not_fill_the_cache() {
    let guest = Guest::load("special/explores_much.S").build("nostdlib");
    let cmd = Cmd::new(guest.expect("needs no library"));
    let scratch = Scratch::new();
    let option = "--engine-option";
    let ppin = Ppin::new(&scratch.db()).with(&[option, "cache-limit=4M", option, "explore"]);
    let (first, cold) = stats_run(&ppin, &cmd, scratch.path());
    assert!(cold.number("flushes") > 0, "{cold:?}");
    let (outcome, stats) = stats_run(&ppin, &cmd, scratch.path());
    assert_eq!(outcome, first);
    assert!(stats.number("traces_anticipated") > 0, "{stats:?}");
    assert_eq!(stats.number("flushes"), 0, "{stats:?}");
}

#[test]
fn another_program_reuses_the_loader_and_libc() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for trained in ["/bin/true", "/bin/cat", "/bin/ls", "/usr/bin/head"] {
        stats_run(
            &ppin,
            &Cmd::new(trained).args(["/dev/null"]),
            scratch.path(),
        );
    }
    let (_, alone) = {
        let other = Scratch::new();
        stats_run(
            &Ppin::new(&other.db()),
            &Cmd::new("/usr/bin/wc").args(["/dev/null"]),
            other.path(),
        )
    };
    let (_, helped) = stats_run(
        &ppin,
        &Cmd::new("/usr/bin/wc").args(["/dev/null"]),
        scratch.path(),
    );
    // What remains is mostly wc's own code.
    assert!(
        helped.compiled() * 2 < alone.compiled(),
        "alone {alone:?}\nhelped {helped:?}"
    );
    assert!(helped.reused() > 0, "{helped:?}");
}

#[test]
fn a_warm_run_writes_nothing() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let cmd = Cmd::new("/bin/true");
    for _ in 0..4 {
        stats_run(&ppin, &cmd, scratch.path());
    }
    let mut seen = 0;
    for _ in 0..10 {
        let before = listing(&scratch.db());
        let (_, stats) = stats_run(&ppin, &cmd, scratch.path());
        assert!(stats.is_warm(), "{stats:?}");
        // Now and then a run meets a path that depends on its addresses, and saves it.
        if stats.compiled() == 0 {
            assert_eq!(listing(&scratch.db()), before);
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen} of ten runs compiled nothing");
}

#[test]
fn tools_do_not_share_code() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let cmd = Cmd::new("/bin/true");
    stats_run(&ppin, &cmd, scratch.path());
    let report = scratch.path().join("report");
    let counted = ppin.with(&["-t", "bbcount", "-o", report.to_str().expect("UTF-8 path")]);
    let (_, first) = stats_run(&counted, &cmd, scratch.path());
    assert!(first.compiled() > 0, "{first:?}");
    assert!(stats_run(&counted, &cmd, scratch.path()).1.is_warm());
    assert!(stats_run(&ppin, &cmd, scratch.path()).1.is_warm());
}

#[test]
fn cache_modes_off_and_ro_write_nothing() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let cmd = Cmd::new("/bin/echo").args(["x"]);
    let (outcome, stats) = stats_run(&ppin.with(&["--cache", "off"]), &cmd, scratch.path());
    assert_eq!(outcome.text(), "x\n");
    assert_eq!(stats.at("cache.mode").as_str(), Some("off"));
    assert!(!scratch.db().exists() || listing(&scratch.db()).is_empty());
    stats_run(&ppin, &cmd, scratch.path());
    let before = listing(&scratch.db());
    let (_, ro) = stats_run(&ppin.with(&["--cache", "ro"]), &cmd, scratch.path());
    assert!(ro.is_warm(), "{ro:?}");
    let (_, off) = stats_run(&ppin.with(&["--cache", "off"]), &cmd, scratch.path());
    assert!(off.compiled() > 0 && off.reused() == 0, "{off:?}");
    assert_eq!(listing(&scratch.db()), before);
}

#[test]
fn code_is_kept_when_the_program_leaves_by_other_doors() {
    let guest = Guest::load("process/ways_out.c");
    let Some(exe) = guest.build("static") else {
        return;
    };
    for door in ["return", "exit", "quick", "under", "handler"] {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        let cmd = Cmd::new(&exe).args([door]);
        stats_run(&ppin, &cmd, scratch.path());
        let (_, warm) = stats_run(&ppin, &cmd, scratch.path());
        assert!(warm.is_warm(), "{door}: {warm:?}");
    }
    let Some(exe) = Guest::load("signal/death.c").build("static") else {
        return;
    };
    for door in ["15", "fault"] {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        let cmd = Cmd::new(&exe).args([door]);
        stats_run(&ppin, &cmd, scratch.path());
        let (_, warm) = stats_run(&ppin, &cmd, scratch.path());
        assert!(warm.is_warm(), "{door}: {warm:?}");
    }
}

/// The C library chooses other functions on other processors; what ppin makes of those that
/// both use is the same.
#[test]
fn a_database_serves_processors_with_and_without_avx512() {
    let masks = [
        "",
        "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-EVEX",
        "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX2_Usable,-AVX,-ERMS,-BMI2",
    ];
    let words = "x=a-b-c-; printf '%s %x\\n' $x 255; case $x in a*c-) exit 3;; esac";
    let cmd = |mask: &str| {
        Cmd::new("/bin/sh")
            .args(["-c", words])
            .env("GLIBC_TUNABLES", mask)
    };
    for made in masks {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db()).with(&["--no-follow"]);
        let right = cmd(made).run();
        let (outcome, cold) = stats_run(&ppin, &cmd(made), scratch.path());
        assert_eq!(outcome, right);
        for used in masks {
            let (outcome, stats) = stats_run(&ppin, &cmd(used), scratch.path());
            assert_eq!(outcome, right, "{made} {used}");
            assert!(stats.rejections().is_empty(), "{made} {used}: {stats:?}");
            // Nearly all is there: it is found under the same key.
            let few = cold.compiled() / 4;
            assert!(stats.compiled() < few, "{made} {used}: {stats:?}");
        }
    }
}
