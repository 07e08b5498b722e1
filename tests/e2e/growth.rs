//! A database that is used for long stays small, quick and tidy by itself.

#![allow(missing_docs, reason = "tests")]

use nix::fcntl::{Flock, FlockArg};
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// So long a writer may take between making a file and locking it.
const UNLOCKED: Duration = Duration::from_millis(2100);

fn run(ppin: &Ppin, cmd: &Cmd, dir: &Path) -> (Outcome, Stats) {
    let file = dir.join("stats");
    let _ = fs::remove_file(&file);
    let option = format!("--stats={}", file.display());
    let outcome = ppin.with(&[&option]).wrap(cmd).run();
    assert_ne!(outcome.ended, Ended::Exit(125), "{outcome:?}");
    (outcome, Stats::one(&file))
}

fn shell(words: &str) -> Cmd {
    Cmd::new("/bin/sh").args(["-c", words])
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The folders of all images.
fn images(db: &Path) -> Vec<PathBuf> {
    let keys = children(&db.join("units")).into_iter();
    keys.flat_map(|key| children(&key)).collect()
}

fn files(db: &Path) -> Vec<PathBuf> {
    images(db).iter().flat_map(|dir| children(dir)).collect()
}

fn bytes(db: &Path) -> u64 {
    files(db)
        .iter()
        .map(|file| file.metadata().unwrap().len())
        .sum()
}

/// Bytes that the database itself has counted: each byte of its file `growth` stands for 4 KiB
/// (persist/FORMAT.md).
fn counted(db: &Path) -> u64 {
    db.join("growth").metadata().unwrap().len() * 4096
}

/// Lets `past` go by: all was used that much earlier.
fn age(db: &Path, past: Duration) {
    for dir in images(db) {
        let used = dir.metadata().unwrap().modified().unwrap();
        let times = FileTimes::new().set_modified(used - past);
        File::open(&dir).unwrap().set_times(times).unwrap();
    }
}

fn is_unit(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "unit")
}

fn units(db: &Path) -> Vec<PathBuf> {
    files(db).into_iter().filter(|file| is_unit(file)).collect()
}

fn build(dir: &Path, name: &str, number: usize) -> PathBuf {
    let source = dir.join(format!("{name}.c"));
    let exe = dir.join(name);
    let text = format!(
        "#include <stdio.h>\nint main(void) {{ printf(\"{name} %d\\n\", {number}); return 0; }}\n"
    );
    fs::write(&source, text).unwrap();
    // A linker makes a new file.
    let _ = fs::remove_file(&exe);
    let mut gcc = Command::new("gcc");
    let status = gcc.arg("-o").arg(&exe).arg(&source).status();
    assert!(status.expect("gcc").success());
    exe
}

/// Edit, build, run, and every day the same commands besides.
#[test]
fn a_month_of_development_stays_below_the_cap_and_warm() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let daily = [shell("echo $((6 * 7))"), Cmd::new("/bin/ls").args(["/"])];
    let ppin = Ppin::new(&db);
    for cmd in daily.iter().chain(&daily) {
        run(&ppin, cmd, scratch.path());
    }
    let cap = bytes(&db) + 200_000;
    let ppin = ppin.with(&["--max-size", &cap.to_string()]);
    let mut built = 0;
    let mut mapped = Vec::new();
    for day in 0..30 {
        age(&db, DAY + Duration::from_secs(60));
        for _ in 0..2 {
            built += 1;
            let exe = Cmd::new(build(scratch.path(), "program", built));
            let (outcome, _) = run(&ppin, &exe, scratch.path());
            assert_eq!(outcome.text(), format!("program {built}\n"));
            assert!(bytes(&db) <= cap, "day {day}: {} of {cap}", bytes(&db));
            assert!(bytes(&db) <= counted(&db), "day {day}: not counted");
            let (_, again) = run(&ppin, &exe, scratch.path());
            assert!(again.is_warm(), "day {day}: {again:?}");
        }
        for cmd in &daily {
            let (_, stats) = run(&ppin, cmd, scratch.path());
            assert!(stats.is_warm(), "day {day}, {}: {stats:?}", cmd.shell());
            mapped.push(stats.number("units_mapped"));
        }
    }
    let (first, last) = (mapped[0], mapped[mapped.len() - daily.len()]);
    assert!(last <= first + 2, "units of the same command: {mapped:?}");
}

/// What was used last stays, however it was used: it need not have been written.
#[test]
fn what_is_used_along_with_new_programs_stays() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let ppin = Ppin::new(&db);
    let shell = shell("echo $((6 * 7))");
    run(&ppin, &shell, scratch.path());
    let size = bytes(&db);
    // Another program, of which nothing is heard any more, and which is there still.
    let other = Cmd::new("/bin/ls").args(["/"]);
    run(&ppin, &other, scratch.path());
    age(&db, Duration::from_secs(3600));
    let cap = size.max(bytes(&db)) + 60_000;
    let ppin = ppin.with(&["--max-size", &cap.to_string()]);
    for number in 0..20 {
        let name = format!("program{number}");
        let exe = build(scratch.path(), &name, number);
        run(&ppin, &Cmd::new(exe), scratch.path());
        assert!(bytes(&db) <= cap, "{} of {cap}", bytes(&db));
    }
    // The loader and libc, which all of them use, are as warm as ever.
    let exe = build(scratch.path(), "last", 1);
    let (_, stats) = run(&ppin, &Cmd::new(exe), scratch.path());
    assert!(stats.compiled() < 200, "{stats:?}");
}

/// Uses are noted once a day, and in no run that only reads.
#[test]
fn a_use_is_noted_once_a_day() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let ppin = Ppin::new(&db);
    let cmd = Cmd::new("/bin/true");
    for _ in 0..2 {
        run(&ppin, &cmd, scratch.path());
    }
    let used = || -> Vec<_> {
        let mut all = images(&db);
        all.sort();
        all.iter()
            .map(|dir| dir.metadata().unwrap().modified().unwrap())
            .collect()
    };
    // Now and then a run meets a path that depends on its addresses, and saves it, and so notes the use.
    let noted = |ppin: &Ppin, days: u32| loop {
        age(&db, days * DAY);
        let before = used();
        let (_, stats) = run(ppin, &cmd, scratch.path());
        if stats.compiled() == 0 {
            return used() != before;
        }
    };
    assert!(!noted(&ppin, 0), "it was used just now");
    assert!(!noted(&ppin.with(&["--cache", "ro"]), 2));
    assert!(noted(&ppin, 2));
    let recent = SystemTime::now() - Duration::from_secs(60);
    assert!(used().iter().any(|time| *time > recent));
}

#[test]
fn gc_removes_what_is_dead_and_keeps_the_rest() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let kept = build(scratch.path(), "kept", 1);
    let gone = build(scratch.path(), "gone", 1);
    let rebuilt = build(scratch.path(), "rebuilt", 1);
    for exe in [&kept, &gone, &rebuilt] {
        run(&ppin, &Cmd::new(exe), scratch.path());
    }
    let before = images(&scratch.db()).len();
    fs::remove_file(&gone).unwrap();
    build(scratch.path(), "rebuilt", 2);
    // A change within the second of the last use is not seen as one.
    age(&scratch.db(), Duration::from_secs(2));
    let db = scratch.db().display().to_string();
    ppin.verb(&["db", "gc", "--db", &db, "--keep-dead"])
        .run_ok();
    assert_eq!(images(&scratch.db()).len(), before);
    let done = ppin.verb(&["db", "gc", "--db", &db]).run_ok();
    assert!(done.text().contains("gone or changed: 2 units"), "{done:?}");
    assert_eq!(units(&scratch.db()).len(), before - 2);
    let (_, stats) = run(&ppin, &Cmd::new(&kept), scratch.path());
    assert!(stats.is_warm(), "{stats:?}");
}

fn spoil(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// What a power cut leaves: names without contents, zeros, half of a file.
#[test]
fn torn_units_are_removed_by_the_next_writer() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let ppin = Ppin::new(&db);
    let cmd = shell("echo $((6 * 7)); exit 3");
    let ways: [fn(&mut Vec<u8>); 3] = [
        Vec::clear,
        |bytes| bytes.fill(0),
        |bytes| bytes.truncate(bytes.len() / 2),
    ];
    for tear in ways {
        let (right, _) = run(&ppin, &cmd, scratch.path());
        let torn = files(&db);
        assert!(torn.len() >= 3, "{torn:?}");
        torn.iter().for_each(|file| spoil(file, tear));
        let (outcome, stats) = run(&ppin, &cmd, scratch.path());
        assert_eq!(outcome, right);
        assert_eq!(stats.rejections().len(), torn.len(), "{stats:?}");
        let left = |file: &&PathBuf| is_unit(file) && file.exists();
        assert!(!torn.iter().any(|file| left(&file)), "{:?}", files(&db));
        let (_, again) = run(&ppin, &cmd, scratch.path());
        assert!(
            again.is_warm() && again.rejections().is_empty(),
            "{again:?}"
        );
    }
}

/// Damage that only shows where the code is used.
#[test]
fn a_unit_damaged_within_is_removed_by_the_next_writer() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let cmd = Cmd::new("/bin/true");
    run(&ppin, &cmd, scratch.path());
    let damaged = units(&scratch.db());
    for file in &damaged {
        // Tables of fragments and hot code, in the middle of the file.
        spoil(file, |bytes| {
            let from = bytes.len() / 4;
            bytes[from..3 * from].fill(0xcc);
        });
    }
    run(&ppin, &cmd, scratch.path());
    let left = damaged.iter().filter(|file| file.exists()).count();
    assert_eq!(left, 0, "of {}", damaged.len());
}

#[test]
fn a_thousand_copies_slow_no_start_and_the_next_writer_removes_them() {
    const COPIES: usize = 1000;
    let scratch = Scratch::new();
    let db = scratch.db();
    let ppin = Ppin::new(&db);
    let cmd = shell("echo $((6 * 7))");
    let (right, _) = run(&ppin, &cmd, scratch.path());
    let quickest = || {
        let timed = |_| {
            let start = Instant::now();
            assert_eq!(ppin.wrap(&cmd).run(), right);
            start.elapsed()
        };
        (0..5).map(timed).min().unwrap()
    };
    let before = quickest();
    for file in files(&db) {
        for copy in 0..COPIES {
            let name = format!("{:08x}-{copy:016x}.unit", 100 + copy);
            fs::copy(&file, file.with_file_name(name)).unwrap();
        }
    }
    let with = quickest();
    assert!(
        with < before * 4 + Duration::from_millis(20),
        "{with:?} after {before:?}"
    );
    // Something new for each of the images.
    let more = shell("x=abc; printf '%x\\n' 255; case $x in a*) echo ${#x} | cat;; esac");
    for _ in 0..2 {
        let cmd = ppin.with(&["--no-follow"]).wrap(&more);
        assert_eq!(cmd.run().text(), "ff\n3\n");
    }
    let most = images(&db)
        .iter()
        .map(|dir| children(dir).len())
        .min()
        .unwrap();
    assert!(most < 40, "{most}");
}

/// A temporary file goes as soon as its writer is dead, and not before.
#[test]
fn what_dead_writers_left_is_removed_at_once() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let ppin = Ppin::new(&db);
    run(&ppin, &Cmd::new("/bin/true"), scratch.path());
    let leave = |name: &str| -> Vec<PathBuf> {
        let paths = images(&db).into_iter().map(|dir| dir.join(name));
        paths
            .inspect(|path| fs::write(path, "half").unwrap())
            .collect()
    };
    let dead = leave(".tmp-0000000000000001");
    let live = leave(".tmp-0000000000000002");
    let lock = |path: &PathBuf| {
        let file = File::open(path).unwrap();
        Flock::lock(file, FlockArg::LockExclusiveNonblock).unwrap()
    };
    let locks: Vec<_> = live.iter().map(lock).collect();
    thread::sleep(UNLOCKED);
    // It brings something new of the loader and of libc.
    run(&ppin, &shell("echo $((6 * 7))"), scratch.path());
    let left = dead.iter().filter(|path| path.exists()).count();
    assert!(left <= 2, "{left} of {}", dead.len());
    assert!(live.iter().all(|path| path.exists()));
    drop(locks);
    let db = db.display().to_string();
    ppin.verb(&["db", "gc", "--db", &db]).run_ok();
    assert!(dead.iter().chain(&live).all(|path| !path.exists()));
}

/// Writers that are killed at any time leave nothing behind.
#[test]
fn killed_writers_leave_no_temporary_files() {
    let scratch = Scratch::new();
    let db = scratch.db();
    let exe = Ppin::new(&db).verb(&[]).to_std().get_program().to_owned();
    for delay in 0..40 {
        let _ = fs::remove_dir_all(&db);
        let mut ppin = Command::new(&exe);
        ppin.args(["run", "--db"])
            .arg(&db)
            .args(["--", "/bin/true"]);
        let mut child = ppin.spawn().unwrap();
        thread::sleep(Duration::from_micros(10_000 + 1000 * delay));
        let _ = child.kill();
        child.wait().unwrap();
        let left: Vec<_> = files(&db)
            .into_iter()
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with('.'))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A run that writes nothing does not touch the database, its own files included.
#[test]
fn a_warm_run_changes_nothing() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for _ in 0..3 {
        run(&ppin, &Cmd::new("/bin/true"), scratch.path());
    }
    let state = || {
        let mut all = children(&scratch.db());
        all.extend(files(&scratch.db()));
        all.sort();
        let stat = |path: &PathBuf| {
            let meta = path.metadata().unwrap();
            (meta.ctime(), meta.ctime_nsec(), meta.len())
        };
        all.iter()
            .map(|path| (path.clone(), stat(path)))
            .collect::<Vec<_>>()
    };
    // Now and then a run meets a path that depends on its addresses, and saves it.
    loop {
        let before = state();
        let (_, stats) = run(&ppin, &Cmd::new("/bin/true"), scratch.path());
        if stats.compiled() == 0 {
            return assert_eq!(state(), before);
        }
    }
}
