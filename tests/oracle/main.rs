//! What the analysis says of instructions, held against the processor that it runs on.
//!
//! Decoders have tables of the flags, registers and memory that instructions read and write. Where a table is
//! wrong, a tool's code may take a flag or a register that the program needs. So random instructions are executed
//! from random states, and once more with one thing changed that is said not to matter.
//!
//! ```text
//! cargo test --release -p ppin-tests --test oracle -- [SEED [COUNT]]
//! ```
//! It is no part of the ordinary tests, which are to say the same on all processors.

mod claims;
mod machine;
mod words;

use claims::{Case, Choice, Complaint};
use machine::Machine;
use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use words::Random;

fn main() -> ExitCode {
    let mut args = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let mut number = |usual| {
        args.next()
            .map_or(usual, |word| word.parse().expect("a number"))
    };
    let (seed, count) = (number(1), number(200_000));
    let mut random = Random::new(seed);
    let mut machine = Machine::new(&mut random);
    let (mut codes, mut complaints) = (HashSet::new(), HashMap::<String, u64>::new());
    for _ in 0..count {
        let case = case(&mut random, &mut machine);
        codes.insert(case.raw.code());
        for Complaint { claim, what } in case.complaints(&mut random, &mut machine) {
            let known = complaints.entry(format!("{:?}: {claim}", case.raw.mnemonic()));
            if *known.and_modify(|times| *times += 1).or_insert(1) == 1 {
                println!("{} ({:02x?}): {claim}: {what}", case.raw, case.bytes());
            }
        }
    }
    let (kinds, wrong) = (codes.len(), complaints.len());
    println!("{count} instructions of {kinds} kinds were executed, {wrong} claims are wrong");
    ExitCode::from(u8::from(wrong > 0))
}

/// The next instruction that can be executed, and the state that it is executed from.
fn case(random: &mut Random, machine: &mut Machine) -> Case {
    loop {
        let found = Choice::new(words::instruction(random), machine);
        let found = found.and_then(|choice| choice.executed(random, machine));
        if let Some(case) = found {
            return case;
        }
    }
}
