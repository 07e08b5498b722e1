//! Counts: known by construction, found by single-stepping, and reported by the tools
//! with an empty and a filled database; all four must be equal.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::{Guest, guests_in};
use ppin_tests::tool::build;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin, step};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Runs under a tool that reports JSON to a file; gives back the outcome and the report.
fn with_tool(ppin: &Ppin, tool: &str, cmd: &Cmd, dir: &Path) -> (Outcome, Value) {
    let report = dir.join("report.json");
    let _ = fs::remove_file(&report);
    let path = report.to_str().expect("UTF-8 path");
    let outcome = ppin
        .with(&["-t", tool, "--format", "json", "-o", path])
        .wrap(cmd)
        .run();
    let text = fs::read_to_string(&report)
        .unwrap_or_else(|e| panic!("no report ({e}) of {}\n{outcome:?}", cmd.shell()));
    let value = serde_json::from_str(text.trim()).unwrap_or_else(|e| panic!("{e}: {text}"));
    (outcome, value)
}

/// A total by its key, at the top level or in the object `total`.
fn total(report: &Value, key: &str) -> u64 {
    let found = [report.get(key), report.pointer(&format!("/total/{key}"))];
    let count = found.into_iter().flatten().find_map(Value::as_u64);
    count.unwrap_or_else(|| panic!("no {key} in {report}"))
}

/// Counts by single-stepping, held against what is known by construction.
fn stepped(guest: &Guest, exe: &Path) -> step::Counted {
    let stepped = step::count(exe, &guest.spec.runs[0].args);
    let (instructions, blocks) = (guest.spec.instructions, guest.spec.blocks);
    assert_eq!(
        stepped.instructions,
        instructions.unwrap_or(stepped.instructions),
        "{}",
        guest.path
    );
    assert_eq!(
        stepped.blocks,
        blocks.unwrap_or(stepped.blocks),
        "{}",
        guest.path
    );
    stepped
}

#[test]
fn stepping_agrees_with_construction() {
    for path in guests_in("count") {
        let guest = Guest::load(&path);
        if let Some(exe) = guest.build("nostdlib") {
            stepped(&guest, &exe);
        }
    }
}

fn exact(path: &str) {
    let guest = Guest::load(path);
    let Some(exe) = guest.build("nostdlib") else {
        return;
    };
    let scratch = Scratch::new();
    let stepped = stepped(&guest, &exe);
    let ppin = Ppin::new(&scratch.db());
    let wanted = [
        ("icount", "instructions", stepped.instructions),
        ("bbcount", "blocks", stepped.blocks),
        ("opcodemix", "instructions", stepped.instructions),
    ];
    for (tool, key, want) in wanted {
        for way in ["cold", "warm", "warm again"] {
            let (_, report) = with_tool(&ppin, tool, &Cmd::new(&exe), scratch.path());
            assert_eq!(total(&report, key), want, "{path}: {tool}, {way}: {report}");
        }
    }
    let plain = ppin.with(&["--optimize=-bundles"]);
    let [plain, bundled] =
        [&plain, &ppin].map(|ppin| with_tool(ppin, "opcodemix", &Cmd::new(&exe), scratch.path()).1);
    assert_eq!(plain["images"], bundled["images"], "{path}");
}

macro_rules! exact {
    ($($name:ident)*) => {
        $(#[test] fn $name() { exact(concat!("count/", stringify!($name), ".S")); })*
        #[test]
        fn every_counted_guest_has_a_test() {
            let tested = [$(concat!("count/", stringify!($name), ".S")),*];
            assert_eq!(guests_in("count"), tested);
        }
    };
}

exact! {
    branches calls faults long_block loop_ repeated sent_signals straight system_calls
}

/// A signal at any instruction of a counted block must not miscount.
#[test]
fn timer_signals_do_not_miscount() {
    let Some(exe) = Guest::load("special/timer_count.S").build("nostdlib") else {
        return;
    };
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let mut entries = 0;
    for way in ["cold", "warm", "warm again"] {
        let (outcome, report) = with_tool(&ppin, "icount", &Cmd::new(&exe), scratch.path());
        let count = u64::from_le_bytes(outcome.stdout[..8].try_into().expect("eight bytes"));
        // Twelve before the loop, nine for each round, fourteen after it.
        let known = 12 + 20_000_000 * 9 + 14 + 4 * count;
        assert_eq!(
            total(&report, "instructions"),
            known,
            "{way}, {count} entries"
        );
        entries += count;
    }
    assert!(entries > 100, "too few signals to mean anything: {entries}");
}

/// Sum over all opcodes is what icount says.
/// Where tools count just before it as well.
#[test]
fn who_waits_for_a_page_handles_signals() {
    let Some(exe) = Guest::load("fault/waits_for_a_page.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let (ppin, cmd) = (Ppin::new(&scratch.db()), Cmd::new(exe));
    let native = cmd.run();
    for tool in ["bbcount", "icount"] {
        let (outcome, _) = with_tool(&ppin, tool, &cmd, scratch.path());
        assert_eq!(outcome, native, "{tool}");
    }
}

#[test]
fn opcodemix_adds_up() {
    let Some(exe) = Guest::load("count/repeated.S").build("nostdlib") else {
        return;
    };
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for way in ["cold", "warm"] {
        let (_, report) = with_tool(&ppin, "opcodemix", &Cmd::new(&exe), scratch.path());
        assert_eq!(total(&report, "instructions"), 504, "{way}: {report}");
    }
}

/// Bundled counts of image counters, one for each opcode, say the same as one counter that is not
/// bundled: in each process, thread for thread and library for library, cold and warm, and while the
/// code cache overflows.
#[test]
fn opcodes_add_up_to_instructions() {
    let guests = [
        ("special/timer_count.S", "nostdlib"),
        ("image/shared_objects.c", "pie"),
        ("thread/fork_from_thread.c", "pie"),
        ("thread/branches_while_flushed.c", "pie"),
        ("thread/many_short.c", "static"),
        ("process/pipeline.c", "pie"),
    ];
    for (path, variant) in guests {
        let Some(exe) = Guest::load(path).build(variant) else {
            continue;
        };
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db()).with(&["-t", "icount", "-t", "opcodemix"]);
        let tiny = ["--engine-option", "cache-limit=192K"];
        for (way, more) in [("cold", &[][..]), ("warm", &[]), ("tiny", &tiny)] {
            let file = scratch.path().join(way);
            let options = ["--format", "json", "-o", file.to_str().expect("UTF-8 path")];
            let ppin = ppin.with(more).with(&options);
            ppin.wrap(&Cmd::new(&exe)).run();
            let processes = by_process(&fs::read_to_string(&file).expect("reports"));
            assert!(!processes.is_empty());
            for sums in processes.values() {
                // (A process that executes another program has reported before.)
                let told =
                    |pair: &[u64]| matches!(pair, [icount, opcodemix] if icount == opcodemix);
                assert!(sums.chunks(2).all(told), "{path}, {way}: {sums:?}");
            }
        }
    }
}

/// The instructions that each process has reported, in the order of its reports.
fn by_process(reports: &str) -> BTreeMap<u64, Vec<u64>> {
    let mut processes = BTreeMap::<u64, Vec<u64>>::new();
    for line in reports.lines() {
        let report: Value = serde_json::from_str(line).expect("JSON");
        let process = total(&report, "process");
        let count = total(&report, "instructions");
        processes.entry(process).or_default().push(count);
    }
    processes
}

/// Code of no image has counters of its own: a forked child, which sets all of them to zero, goes
/// on, and so does the program.
#[test]
fn opcodemix_counts_beside_code_that_comes_and_goes() {
    let exe = Guest::load("code/protected_anew.c").build("pie");
    let exe = exe.expect("the compiler makes PIEs");
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db()).with(&["--no-follow"]);
    let report = scratch.path().join("report.%p");
    let path = report.to_str().expect("UTF-8 path");
    let ppin = ppin.with(&["-t", "opcodemix", "-o", path]);
    assert_eq!(ppin.wrap(&Cmd::new(&exe)).run(), Cmd::new(&exe).run());
}

/// Threads: what each counts adds up to the total, cold and warm.
#[test]
fn threads_add_up() {
    let Some(exe) = Guest::load("thread/many_short.c").build("static") else {
        return;
    };
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for way in ["cold", "warm"] {
        let (outcome, report) = with_tool(&ppin, "icount", &Cmd::new(&exe), scratch.path());
        assert_eq!(outcome.text(), "ok\n", "{way}");
        let threads = report
            .get("threads")
            .and_then(Value::as_array)
            .expect("threads");
        let sum: u64 = threads
            .iter()
            .map(|thread| total(thread, "instructions"))
            .sum();
        assert_eq!(total(&report, "instructions"), sum, "{way}");
        assert!(threads.len() >= 2001, "{way}: {} threads", threads.len());
    }
}

/// Threads that do the same count the same, though they use memory of those that have ended.
#[test]
fn each_thread_counts_from_zero() {
    let Some(exe) = Guest::load("thread/one_after_another.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for tool in ["icount", "bbcount"] {
        let key = if tool == "icount" {
            "instructions"
        } else {
            "blocks"
        };
        let (outcome, report) =
            with_tool(&ppin, tool, &Cmd::new(&exe).args(["alone"]), scratch.path());
        assert_eq!(outcome.text(), "ok\n", "{tool}");
        let threads = report.get("threads").and_then(Value::as_array);
        let mut counts = threads.expect("threads")[1..].iter().map(|t| total(t, key));
        let first = counts.next().expect("a second thread");
        assert!(counts.len() >= 59 && first > 20_000, "{tool}: {first}");
        let same = |count: u64| (first / 4 * 3..first / 2 * 3).contains(&count);
        assert!(counts.all(same), "{tool}: {report}");
    }
}

/// Every access of a program that makes few, with address, size and kind.
#[test]
fn memtrace_sees_every_access() {
    let Some(exe) = Guest::load("special/memory_accesses.S").build("nostdlib") else {
        return;
    };
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for way in ["cold", "warm"] {
        let trace = scratch.path().join(format!("trace-{way}"));
        let path = trace.to_str().expect("UTF-8 path");
        let knob = format!("file={path}");
        let options = ["-t", "memtrace", "--knob", &knob, "-o", "/dev/null"];
        ppin.with(&options).wrap(&Cmd::new(&exe)).run_ok();
        let text = printed(&ppin, &trace);
        let accesses: Vec<String> = text.lines().filter_map(access).collect();
        let want = ["R8", "W1", "R4", "W4", "R16", "W2", "R8"];
        assert_eq!(accesses, want, "{way}:\n{text}");
    }
}

/// The binary trace as lines.
fn printed(ppin: &Ppin, trace: &Path) -> String {
    let path = trace.to_str().expect("UTF-8 path");
    ppin.verb(&["tool", "memtrace-print", path]).run_ok().text()
}

/// Kind and size of a line such as `0x401000: R 0x404000 8`.
fn access(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| matches!(*word, "R" | "W"))?;
    Some(format!("{}{}", words[at], words.last()?))
}

/// Registers in which a callee has its arguments are not those of inserted code, cold and warm.
#[test]
fn callees_find_their_registers() {
    let guest = Guest::load("flow/callee_registers.c");
    let Some(exe) = guest.build("pie") else {
        return;
    };
    let (scratch, cmd) = (Scratch::new(), Cmd::new(&exe));
    let native = cmd.run();
    let ppin = Ppin::new(&scratch.db());
    for tool in ["bbcount", "icount", "opcodemix"] {
        for _ in 0..2 {
            let (outcome, _) = with_tool(&ppin, tool, &cmd, scratch.path());
            assert_eq!(outcome, native, "{tool}");
        }
    }
}

/// What is inserted where branches are taken runs then, and only then: for long and short ones, counted and
/// called.
#[test]
fn sides_of_branches_are_told_apart() {
    let Some(exe) = Guest::load("count/branches.S").build("nostdlib") else {
        return;
    };
    let tool = build("sides", |_| include_str!("../tools/sides.rs").into());
    let tool = tool.to_str().expect("UTF-8 path");
    // 300 rounds of `dec`, 299 of the rest: 149 with an even number, 150 with bit 1; 5 of `loop` in each.
    let taken = 299 + 149 + 150 + 4 * 299 + 299;
    let wanted = [
        ("all", 300 + 299 * 8),
        ("behind", 1 + 150 + 149 + 299),
        ("taken", taken),
        ("called", taken),
        ("back", 299 + 4 * 299),
        ("recorded", taken),
        ("recorded_back", 299 + 4 * 299),
    ];
    for way in ["all", "-calls", "-inline", "-join", "none"] {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db()).with(&[&format!("--optimize={way}")]);
        for run in ["cold", "warm", "warm again"] {
            let (_, report) = with_tool(&ppin, tool, &Cmd::new(&exe), scratch.path());
            for (key, want) in wanted {
                assert_eq!(total(&report, key), want, "{key}: {way}, {run}: {report}");
            }
        }
    }
}

/// Code that is changed while it runs is left before an instruction of which nothing has run, and system calls of
/// programs with such code are made by the gate: neither is taken for a difference.
#[test]
fn checked_runs_follow_code_that_is_changed() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for guest in [
        "rewritten/stores_that_come_near.c",
        "rewritten/rewritten_in_place.c",
    ] {
        let Some(exe) = Guest::load(guest).build("pie") else {
            continue;
        };
        let exe = exe.to_str().expect("ours");
        let outcome = ppin.verb(&["run", "--check", "--", exe]).run_ok();
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert!(said.starts_with("ppin: the same: "), "{guest}: {said}");
    }
}

/// Checked runs compare with the program itself, also under tools that count: they may lose flags that the
/// program overwrites, and nothing else.
#[test]
fn checked_runs_find_no_difference() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for tool in ["null", "bbcount", "opcodemix"] {
        let checked = ppin.verb(&["run", "--check", "-t", tool, "--", "/bin/true"]);
        let outcome = checked.run_ok();
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert!(said.starts_with("ppin: the same: "), "{tool}: {said}");
        // (The loader's string code reads words below return addresses, too.)
        let sampled = ["--check=sample:20", "-t", tool, "-o", "/dev/null"];
        let shell =
            Cmd::new("/bin/sh").args(["-c", "for i in 1 2 3 4 5 6 7 8 9; do echo $i; done"]);
        for cmd in [shell, Cmd::new("/bin/ls").args(["-l", "/etc/passwd"])] {
            let outcome = ppin.with(&sampled).wrap(&cmd).run();
            assert_eq!(outcome, cmd.run(), "{tool}");
        }
    }
}
