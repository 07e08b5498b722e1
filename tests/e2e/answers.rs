//! What the CPU has answered to `cpuid`: kept for the next programs, until the machine boots again.

#![allow(missing_docs, reason = "tests")]

use ppin_persist::cpuid::{self, Machine};
use ppin_tests::build::Guest;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin, skip};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A program that asks, and a database after it has.
struct Asked {
    scratch: Scratch,
    program: Cmd,
    native: Outcome,
}

impl Asked {
    fn new() -> Option<Self> {
        let exe = Guest::load("insn/cpuid.c").build("static")?;
        let program = Cmd::new(exe);
        let native = program.run();
        let scratch = Scratch::new();
        let asked = Self {
            scratch,
            program,
            native,
        };
        assert_eq!(asked.run(), asked.native);
        // Nothing lasts where processors differ.
        match asked.file().exists() {
            true => Some(asked),
            false => {
                skip::skipped("answers", "this machine's processors differ");
                None
            }
        }
    }

    fn run(&self) -> Outcome {
        Ppin::new(&self.scratch.db()).wrap(&self.program).run()
    }

    fn file(&self) -> PathBuf {
        self.scratch.db().join("cpuid")
    }

    /// Has the file say something else of each leaf but those that name others.
    fn lie(&self, of: impl Fn(Machine) -> Machine) {
        let (machine, mut answers) = cpuid::decode(&fs::read(self.file()).unwrap()).unwrap();
        for answer in answers.iter_mut().skip(2) {
            answer.registers[1] ^= 0x55;
        }
        fs::write(self.file(), cpuid::encode(&of(machine), &answers)).unwrap();
    }
}

#[test]
fn answers_are_written_once() {
    let Some(asked) = Asked::new() else { return };
    let state = || {
        let meta = fs::metadata(asked.file()).unwrap();
        (meta.ino(), meta.mtime_nsec())
    };
    let before = state();
    assert_eq!(asked.run(), asked.native);
    assert_eq!(state(), before);
}

#[test]
fn answers_of_this_boot_are_used_and_those_of_others_are_not() {
    let Some(asked) = Asked::new() else { return };
    asked.lie(|machine| machine);
    assert_ne!(asked.run(), asked.native, "nobody looked at the file");
    asked.lie(|mut machine| {
        machine.boot[0] ^= 1;
        machine
    });
    assert_eq!(asked.run(), asked.native);
    asked.lie(|mut machine| {
        machine.version[2] ^= 1;
        machine
    });
    assert_eq!(asked.run(), asked.native);
}

#[test]
fn a_damaged_file_is_not_believed_and_written_again() {
    let Some(asked) = Asked::new() else { return };
    let right = fs::read(asked.file()).unwrap();
    for at in [0, 20, right.len() / 2, right.len() - 1] {
        let mut damaged = right.clone();
        damaged[at] ^= 4;
        fs::write(asked.file(), damaged).unwrap();
        assert_eq!(asked.run(), asked.native, "damaged at {at}");
        assert!(
            cpuid::decode(&fs::read(asked.file()).unwrap()).is_some(),
            "damaged at {at}"
        );
    }
}
