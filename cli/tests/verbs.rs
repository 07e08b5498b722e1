//! The verbs that do not become the program, as a user calls them.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with a database in it.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The same after a run of `/bin/true`.
    fn trained() -> Self {
        let world = Self::new();
        world.yes(&["warm", "--", "/bin/true"]);
        world
    }

    fn db(&self) -> PathBuf {
        self.folder.path().join("db")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn ppin(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ppin"));
        command.args(args).env("PPIN_DB", self.db());
        command.stdin(Stdio::null()).current_dir(self.folder.path());
        command.output().unwrap()
    }

    /// Output of a command that must answer yes.
    fn yes(&self, args: &[&str]) -> String {
        let out = self.ppin(args);
        assert_eq!(status(&out), 0, "{args:?}: {out:?}");
        text(&out.stdout)
    }

    fn json(&self, args: &[&str]) -> Vec<Value> {
        let lines = self.yes(args);
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn units(&self) -> Vec<PathBuf> {
        let listed = self.json(&["db", "list", "--format", "json"]);
        let units = listed
            .iter()
            .flat_map(|image| image["units"].as_array().unwrap());
        units
            .map(|unit| self.db().join(unit["file"].as_str().unwrap()))
            .collect()
    }
}

fn status(out: &Output) -> i32 {
    out.status.code().unwrap_or(-1)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_empty_database_is_looked_at_without_being_made() {
    let world = World::new();
    assert_eq!(
        world.yes(&["db", "path"]).trim(),
        world.db().to_str().unwrap()
    );
    assert_eq!(world.yes(&["db", "list"]), "The database is empty.\n");
    assert_eq!(world.yes(&["inspect"]), "The database is empty.\n");
    assert_eq!(
        world.json(&["db", "stat", "--format", "json"])[0]["units"],
        0
    );
    world.yes(&["db", "verify", "--recompile"]);
    assert!(!world.db().exists());
}

#[test]
fn wrong_use_is_status_2() {
    let world = World::new();
    for args in [
        &["db"][..],
        &["db", "nonsense"],
        &["db", "rm"],
        &["db", "rm", "no-slash-no-hash"],
        &["db", "gc", "--max-size", "1X"],
        &["warm"],
        &["warm", "-t", "no-such-tool", "--", "/bin/true"],
        &["inspect", "--nonsense"],
        &["tool", "doc", "no-such-tool"],
    ] {
        let out = world.ppin(args);
        assert_eq!(status(&out), 2, "{args:?}: {out:?}");
        assert!(!out.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_trained_database_is_listed_and_sound() {
    let world = World::trained();
    let listed = world.json(&["db", "list", "--format", "json"]);
    let traces: Vec<_> = listed
        .iter()
        .map(|image| image["traces"].as_u64().unwrap())
        .collect();
    assert!(traces.iter().any(|traces| *traces > 100), "{listed:?}");
    assert!(world.yes(&["db", "list"]).starts_with("  IMAGE"));
    assert!(world.yes(&["db", "list", "--units"]).contains(".unit"));
    let stat = &world.json(&["db", "stat", "--format", "json"])[0];
    assert_eq!(stat["unreadable"], json!(0));
    let verified = &world.json(&["db", "verify", "--recompile", "--format", "json"])[0];
    let again = &verified["recompile"];
    assert_eq!(again["differ"], json!([]));
    assert_eq!(again["skipped"], json!([]));
    assert_eq!(again["compared"], stat["traces"]);
}

#[test]
fn damage_is_found_and_collected() {
    let world = World::trained();
    let units = world.units();
    flip_a_bit(&units[0]);
    let out = world.ppin(&["db", "verify"]);
    assert_eq!(status(&out), 1);
    assert!(text(&out.stdout).starts_with("damaged: units/"), "{out:?}");
    assert!(
        world
            .yes(&["db", "gc"])
            .contains("removed as damaged: 1 unit")
    );
    assert_eq!(world.units().len(), units.len() - 1);
    world.yes(&["db", "verify"]);
}

#[test]
fn units_are_removed_by_image() {
    let world = World::trained();
    let before = world.units().len();
    assert!(
        world
            .yes(&["db", "rm", "/bin/true"])
            .starts_with("removed 1 unit")
    );
    assert_eq!(status(&world.ppin(&["db", "rm", "/bin/true"])), 1);
    assert_eq!(world.units().len(), before - 1);
    world.yes(&["db", "rm", "--all"]);
    assert_eq!(world.units().len(), 0);
}

#[test]
fn a_database_is_carried_elsewhere() {
    let (world, other) = (World::trained(), World::new());
    let pack = world.path("pack");
    world.yes(&["db", "export", &pack]);
    other.yes(&["db", "import", &pack]);
    assert_eq!(other.units().len(), world.units().len());
    other.yes(&["db", "verify", "--recompile"]);
    let stats = other.path("stats");
    other.yes(&["run", &format!("--stats={stats}"), "--", "/bin/true"]);
    let stats: Value = serde_json::from_str(&fs::read_to_string(stats).unwrap()).unwrap();
    // Paths depend on addresses a little, which differ from run to run.
    assert!(stats["traces_compiled"].as_u64().unwrap() < 30, "{stats}");
    assert!(stats["traces_reused"].as_u64().unwrap() > 0, "{stats}");
    fs::write(&pack, "no pack").unwrap();
    assert_eq!(status(&other.ppin(&["db", "import", &pack])), 1);
}

#[test]
fn warm_keeps_the_program_and_says_what_was_learnt() {
    let world = World::new();
    let out = world.ppin(&["warm", "-t", "bbcount", "--", "/bin/echo", "said"]);
    assert_eq!((status(&out), text(&out.stdout).as_str()), (0, "said\n"));
    let summary = text(&out.stderr);
    assert!(
        summary.starts_with("ppin: 1 process, ") && !summary.contains("block"),
        "{summary}"
    );
    let out = world.ppin(&[
        "warm",
        "-t",
        "bbcount",
        "--format",
        "json",
        "--",
        "/bin/echo",
        "said",
    ]);
    let learnt: Value = serde_json::from_str(&text(&out.stderr)).unwrap();
    assert!(learnt["traces_reused"].as_u64().unwrap() > 0, "{learnt}");
    let out = world.ppin(&["warm", "--", "/bin/false"]);
    assert_eq!(status(&out), 0);
    assert!(
        text(&out.stderr).contains("the program ended with status 1"),
        "{out:?}"
    );
    assert_eq!(status(&world.ppin(&["warm", "--", "/nonexistent"])), 1);
}

#[test]
fn traces_are_shown_beside_their_code() {
    let world = World::trained();
    let overview = world.json(&["inspect", "--json"]);
    assert!(
        overview
            .iter()
            .all(|image| image["instructions"].as_u64().unwrap() > 0)
    );
    let image = overview[0]["image"].as_str().unwrap();
    assert!(world.yes(&["inspect", image]).contains(".unit"));
    let unit = world.units()[0]
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let first = &world.json(&["inspect", &unit, "--json"])[0];
    let place = format!("{:#x}", first["address"].as_u64().unwrap());
    let shown = world.json(&["inspect", &place, "--json"]);
    let this =
        |trace: &&Value| trace["offset"] == first["offset"] && trace["unit"] == first["unit"];
    let trace = shown.iter().find(this).unwrap();
    let number = |key: &str| trace[key].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(trace["instructions"].as_u64(), Some(number("original")));
    assert!(number("translated") >= number("original"));
    let listing = world.yes(&["inspect", &place]);
    assert!(listing.contains("hot 000"), "{listing}");
    assert_eq!(status(&world.ppin(&["inspect", "no_such_symbol"])), 1);
}

#[test]
fn a_page_has_what_the_listing_has() {
    let world = World::trained();
    let file = world.folder.path().join("page.html");
    let on_page = |words: &[&str]| {
        let html = file.to_str().unwrap();
        let said = world.yes(&[&["inspect"], words, &["--html", html]].concat());
        assert_eq!(said, "");
        std::fs::read_to_string(&file).unwrap()
    };
    let image = &world.json(&["inspect", "--json"])[0];
    let image = image["image"].as_str().unwrap();
    let overview = on_page(&[]);
    assert!(overview.starts_with("<!DOCTYPE html>") && overview.contains(image));
    let all = world.json(&["inspect", image, "--disasm", "--json"]);
    let page = on_page(&[image, "--disasm"]);
    assert_eq!(page.matches("<details").count(), all.len());
    let anchors = page.matches("href=\"#").count();
    assert!(anchors > 0, "exits lead to other traces");
    std::fs::remove_file(&file).unwrap();
    let nothing = [
        "inspect",
        "no_such_symbol",
        "--html",
        file.to_str().unwrap(),
    ];
    assert_eq!(status(&world.ppin(&nothing)), 1);
    assert!(!file.exists(), "there is nothing to show");
    let nowhere = world.ppin(&["inspect", "--html", "/nonexistent/page"]);
    assert_eq!(status(&nowhere), 1);
    assert!(
        text(&nowhere.stderr).contains("No such file"),
        "{nowhere:?}"
    );
}

#[test]
fn doctor_says_one_thing_on_each_line() {
    let world = World::new();
    let out = world.ppin(&["doctor", "--format", "json"]);
    let lines = text(&out.stdout);
    let findings: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let good = |finding: &&Value| finding["good"] == true;
    assert_eq!(
        status(&out),
        i32::from(!findings.iter().all(|f| good(&f))),
        "{lines}"
    );
    let start = findings
        .iter()
        .find(|finding| finding["what"] == "start")
        .unwrap();
    assert!(good(&start), "{lines}");
}
