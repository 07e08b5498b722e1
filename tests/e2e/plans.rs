//! Start plans: later starts do what earlier ones have learnt, and nothing that a plan says, or that
//! has happened to the units since, makes a run wrong.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::stats::Stats;
use ppin_tests::ways::{Scratch, keep_addresses};
use ppin_tests::{Cmd, Outcome, Ppin};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

const PLAN: &str = "start.plan";

fn command() -> Cmd {
    Cmd::new("/bin/sh").args(["-c", "echo $((6 * 7)); exit 3"])
}

/// A database after some runs, used in place: a copy's files are in another state.
struct Trained {
    scratch: Scratch,
    right: Outcome,
}

impl Trained {
    fn new() -> Self {
        keep_addresses();
        let trained = Self {
            scratch: Scratch::new(),
            right: command().run(),
        };
        (0..3).for_each(|_| drop(trained.run("training")));
        trained
    }

    fn run(&self, what: &str) -> Stats {
        self.run_with(&[], what)
    }

    fn run_with(&self, options: &[&str], what: &str) -> Stats {
        let stats = self.scratch.path().join("stats");
        let _ = fs::remove_file(&stats);
        let flag = format!("--stats={}", stats.display());
        let ppin = Ppin::new(&self.scratch.db());
        let options = [&[flag.as_str()], options].concat();
        let cmd = ppin.with(&options).wrap(&command());
        assert_eq!(cmd.run(), self.right, "{what}: {}", cmd.shell());
        Stats::one(&stats)
    }

    /// The files of the database with this end of their name.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.scratch.db().join("units")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.to_string_lossy().ends_with(end) => found.push(path),
                    false => {}
                }
            }
        }
        found.sort();
        found
    }

    fn plan(&self) -> PathBuf {
        let [plan] = &self.files(PLAN)[..] else {
            panic!("one program has run, so there is one plan");
        };
        plan.clone()
    }
}

/// Turns bits of the byte at `at`, and gives the file its time of modification back.
fn flip(path: &Path, at: u64, bits: u8) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ bits], at).unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn a_trained_start_opens_what_it_needs_and_leaves_the_plan_alone() {
    let trained = Trained::new();
    let state = |path: &Path| {
        fs::metadata(path)
            .map(|meta| (meta.ino(), meta.ctime()))
            .unwrap()
    };
    let before = state(&trained.plan());
    let stats = trained.run("trained");
    assert_eq!(stats.number("traces_compiled"), 0, "{stats:?}");
    assert!(stats.rejections().is_empty(), "{stats:?}");
    assert_eq!(state(&trained.plan()), before);
    let planned = stats.number("vm_entries");
    fs::remove_file(trained.plan()).unwrap();
    let stats = trained.run("without the plan");
    assert!(stats.number("vm_entries") >= planned, "{stats:?}");
    let again = trained.run("with a new plan");
    // (Which of the jumps that take the same way the first run asked for is a matter of chance.)
    assert!(again.number("vm_entries") <= planned + 2, "{again:?}");
}

#[test]
fn a_plan_is_followed_where_units_lie_elsewhere() {
    let trained = Trained::new();
    let planned = trained.run("at their places");
    let moved = trained.run_with(&["--engine-option", "forbid-preferred"], "elsewhere");
    let counts = [&planned, &moved].map(|stats| stats.number("units_moved"));
    assert_eq!(counts, [0, moved.number("units_mapped")]);
    let relocations = |stats: &Stats| stats.number("relocations_applied");
    assert!(relocations(&moved) > relocations(&planned), "{moved:?}");
    let entries = [&moved, &planned].map(|stats| stats.number("vm_entries"));
    assert!(entries[0] <= entries[1] + 2, "{moved:?} {planned:?}");
}

#[test]
fn a_flipped_bit_of_a_unit_is_noticed_though_its_file_was_verified_before() {
    let trained = Trained::new();
    for unit in trained.files(".unit") {
        let len = fs::metadata(&unit).unwrap().len();
        for n in 0..8 {
            let at = n * len / 8 + 97 * n % 4096;
            if !unit.exists() {
                break;
            }
            flip(&unit, at.min(len - 1), 1 << (n % 8));
            trained.run(&format!("{} flipped at {at}", unit.display()));
            // (The writer that finds damage may remove the unit.)
            if unit.exists() {
                flip(&unit, at.min(len - 1), 1 << (n % 8));
                trained.run(&format!("{} flipped back", unit.display()));
            }
        }
    }
}

#[test]
fn any_flipped_bit_of_a_plan_is_noticed() {
    let trained = Trained::new();
    let plan = trained.plan();
    for n in 0..24 {
        // (Each run writes a new one, which knows less than the first: that one has seen a run that translated.)
        let len = fs::metadata(&plan).unwrap().len();
        let at = n * (len - 1) / 23;
        flip(&plan, at, 1 << (n % 8));
        let stats = trained.run(&format!("the plan flipped at {at}"));
        let reasons = stats.rejections();
        assert!(reasons.iter().any(|why| why.contains(PLAN)), "{reasons:?}");
    }
}

/// What a first run has seen of jumps to other images need not be asked for.
#[test]
fn the_second_run_knows_where_jumps_go() {
    let scratch = Scratch::new();
    let count = "i=0; while [ $i -lt 9000 ]; do i=$((i + 1)); done; echo $i";
    let cmd = Cmd::new("/bin/sh").args(["-c", count]);
    let right = cmd.run();
    let run = || {
        let stats = scratch.path().join("stats");
        let _ = fs::remove_file(&stats);
        let flag = format!("--stats={}", stats.display());
        let ppin = Ppin::new(&scratch.db());
        assert_eq!(ppin.with(&[flag.as_str()]).wrap(&cmd).run(), right);
        let stats = Stats::one(&stats);
        ["jumps_predicted", "ibl_misses"].map(|key| stats.number(key))
    };
    let [first, second] = [run(), run()];
    assert!(
        first[0] > 0 && 2 * second[0] >= first[0],
        "{first:?} {second:?}"
    );
    // (Whatever is predicted by asking the runtime is a lookup of its own.)
    assert!(second[0] > second[1], "most need no question: {second:?}");
}

#[test]
fn plans_that_say_something_else_do_no_harm() {
    let trained = Trained::new();
    let other = Scratch::new();
    let ppin = Ppin::new(&other.db());
    let cmd = Cmd::new("/bin/ls").args(["/"]);
    (0..3).for_each(|_| drop(ppin.wrap(&cmd).run()));
    let foreign = Trained {
        scratch: other,
        right: trained.right.clone(),
    };
    let plan = trained.plan();
    let own = fs::read(&plan).unwrap();
    let others = fs::read(foreign.plan()).unwrap();
    let long = vec![0; 9 << 20];
    let plans = [
        ("of another program", &others[..]),
        ("empty", &[]),
        ("cut", &own[..own.len() / 2]),
        ("much too long", &long),
        ("with more behind it", &[&own[..], b"more"].concat()),
        ("its own again", &own),
    ];
    for (what, bytes) in plans {
        fs::write(&plan, bytes).unwrap();
        trained.run(&format!("a plan {what}"));
    }
}

#[test]
fn units_that_have_gone_are_missed_by_nobody() {
    let trained = Trained::new();
    for unit in trained.files(".unit") {
        fs::remove_file(&unit).unwrap();
        let stats = trained.run(&format!("without {}", unit.display()));
        assert!(stats.number("traces_compiled") > 0, "{stats:?}");
    }
    assert_eq!(trained.run("made again").number("traces_compiled"), 0);
}
