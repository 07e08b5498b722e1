//! `ppin run --check`: the program twice, natively one instruction at a time and
//! under ppin, compared wherever ppin enters translated code.
//!
//! ```text
//! native  this process traces it and steps it            (native.rs)
//! ours    reports by int3 from ppin's dispatcher, see    (ours.rs)
//!         `ppin_engine::check::lockstep`
//! ```
//! Both start alike: same arguments, environment and files, no address space
//! randomisation, standard input empty, output to files. Compared are the general
//! registers, flags, xmm, the fs base, output and end. What the kernel answers
//! differently (times, process ids, random bytes) is handed over from the native
//! process; how often that happened is said at the end. The vdso is hidden from
//! both, so that times come by system calls.
//!
//! Limits: one thread, up to the execution of another program; signals only as the
//! program sends them to itself. What the program does to the world, it does twice.

mod calls;
mod compare;
mod ids;
mod native;
mod ours;
mod output;
mod pair;
mod stack;
mod state;

pub use native::{Step, become_traced};

use crate::failure::{FAILED, Failure, NO, YES};
use crate::options::Run;
use crate::preflight;
use crate::text::count;
use compare::{Verdict, compare_output};
use native::Native;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::unistd::Pid;
use ours::Ours;
use output::Output;
use pair::{Figures, Pair};
use ppin_abi::optimize::Optimize;
use std::io;
use std::process::Command;

/// Compares; the status says whether both are the same.
pub fn check(args: &Run) -> Result<u8, Failure> {
    if args.settings.stats.is_some()
        || args.settings.output.is_some()
        || !args.settings.db.is_empty()
    {
        return Err(Failure::of_ppin(
            "--check runs without --stats, --output and --db; --check=sample runs with them",
        ));
    }
    let found = preflight::find(&args.command[0])?;
    personality::set(Persona::ADDR_NO_RANDOMIZE)
        .map_err(|e| Failure::of_ppin(format!("cannot switch address randomisation off: {e}")))?;
    stay_on_one_processor();
    let (mut native_out, mut our_out) = (Output::new()?, Output::new()?);
    let mut step = Command::new("/proc/self/exe");
    step.arg("step")
        .arg(&found.path)
        .arg("--")
        .args(&args.command);
    native_out.attach(&mut step)?;
    let mut run = Command::new("/proc/self/exe");
    run.args([
        "run",
        "--cache",
        "off",
        "--no-follow",
        "--engine-option",
        "lockstep",
    ]);
    run.args(["-o", "/dev/null"]);
    for tool in &args.settings.tool {
        run.args(["-t", tool]);
    }
    run.arg(format!("--optimize={}", args.settings.optimize));
    for (name, value) in &args.settings.knob {
        run.arg("--knob").arg(format!("{name}={value}"));
    }
    run.arg("--").args(&args.command);
    our_out.attach(&mut run)?;
    let native = Native::start(&mut step).map_err(Failure::of_ppin)?;
    let ours = Ours::start(&mut run).map_err(Failure::of_ppin)?;
    let mut pair = Pair {
        native,
        ours,
        figures: Figures::default(),
        instrumented: !args.settings.tool.is_empty() && args.settings.optimize.has(Optimize::JOIN),
    };
    let verdict = pair.compare();
    let verdict = match verdict {
        Verdict::Same => compare_output(&mut native_out, &mut our_out)?,
        other => other,
    };
    our_out.show(&mut io::stdout(), &mut io::stderr())?;
    conclude(&pair, verdict)
}

/// Only one of the three processes runs at a time; handing over is cheaper in one
/// place. Without leave to do so it just takes longer.
fn stay_on_one_processor() {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).unwrap_or_default();
    let first = (0..CpuSet::count()).find(|n| allowed.is_set(*n).unwrap_or(false));
    let mut one = CpuSet::new();
    if first.is_some_and(|n| one.set(n).is_ok()) {
        let _ = sched_setaffinity(this, &one);
    }
}

fn conclude(pair: &Pair, verdict: Verdict) -> Result<u8, Failure> {
    let Figures {
        instructions,
        places,
        handed_over,
    } = pair.figures;
    let so_far = format!(
        "{} compared at {} ({} of the kernel handed over)",
        count(instructions, "instruction"),
        count(places, "place"),
        count(handed_over, "answer"),
    );
    match verdict {
        Verdict::Same => {
            eprintln!("ppin: the same: {so_far}");
            Ok(YES)
        }
        Verdict::Differs(how) => {
            eprintln!("ppin: NOT the same: {how}\nppin: {so_far}");
            Ok(NO)
        }
        Verdict::Unknown(why) => Err(Failure::new(FAILED, format!("{why}; until then: {so_far}"))),
    }
}
