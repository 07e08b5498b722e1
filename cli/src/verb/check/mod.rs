//! `ppin run --check`: the program twice, natively one instruction at a time and
//! under ppin, compared wherever ppin enters translated code.
//!
//! ```text
//! native  this process traces it and steps it            (native.rs)
//! ours    reports by int3 from ppin's dispatcher, see    (ours.rs)
//!         `ppin_engine::lockstep`
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
mod native;
mod ours;
mod stack;
mod state;

pub use native::{Step, become_traced};

use crate::args::Run;
use crate::failure::{FAILED, Failure, NO, YES};
use crate::preflight;
use crate::text::count;
use native::{Moved, Native};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::unistd::Pid;
use ours::{Ours, Report, Said};
use state::{Difference, State};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, ExitStatus, Stdio};

/// Compares; the status says whether both are the same.
pub fn check(args: &Run) -> Result<u8, Failure> {
    if args.stats.is_some() || args.output.is_some() || !args.db.is_empty() {
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
    run.args(["-o", "/dev/null", "-t", &args.tool]);
    for (name, value) in &args.knob {
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

/// Outcome.
enum Verdict {
    Same,
    Differs(String),
    /// It cannot be compared further.
    Unknown(String),
}

#[derive(Clone, Copy, Default)]
struct Figures {
    instructions: u64,
    places: u64,
    handed_over: u64,
}

/// Both processes.
struct Pair {
    native: Native,
    ours: Ours,
    figures: Figures,
}

impl Pair {
    fn compare(&mut self) -> Verdict {
        let said = self.ours.next();
        if let Ok(Said::At(report)) = &said
            && let Err(why) = self.begin(report)
        {
            return Verdict::Unknown(why);
        }
        let mut said = said;
        loop {
            let verdict = match said {
                Err(why) => Some(Verdict::Unknown(why)),
                Ok(Said::Ended(status)) => Some(self.end(status)),
                Ok(Said::Executed) => Some(self.other_program()),
                Ok(Said::At(report)) => self.at(&report),
            };
            if let Some(verdict) = verdict {
                return verdict;
            }
            said = self.ours.next();
        }
    }

    /// Makes what the kernel gave to each process alike.
    fn begin(&mut self, report: &Report) -> Result<(), String> {
        let state = State::of_ours(&self.ours, report)?;
        stack::equalize(&self.native.mem, &self.ours.mem, state.sp())
            .map_err(|error| format!("cannot change the stack of the program: {error}"))
    }

    /// Steps the native process as far, and compares.
    fn at(&mut self, report: &Report) -> Option<Verdict> {
        let first = self.figures.places == 0;
        self.figures.places += 1;
        let moved = match (first, report.executed) {
            (true, _) => Ok(Moved::There(0)),
            (false, Some(steps)) => self.native.steps(steps),
            (false, None) => self.native.until(report.pc),
        };
        match moved {
            Err(why) => return Some(Verdict::Unknown(why)),
            Ok(Moved::Ended(status)) => {
                let text = format!(
                    "the native process has ended ({status}), ours goes on at {:#x}",
                    report.pc
                );
                return Some(Verdict::Differs(text));
            }
            Ok(Moved::Executed) => {
                return Some(Verdict::Differs(
                    "only the native process executed a program".into(),
                ));
            }
            Ok(Moved::Lost) => {
                let text = format!(
                    "the native process does not come to {:#x}{}",
                    report.pc,
                    self.trail()
                );
                return Some(Verdict::Differs(text));
            }
            Ok(Moved::There(steps)) => self.figures.instructions += steps,
        }
        match self.states(report) {
            Err(why) => Some(Verdict::Unknown(why)),
            Ok(differences) if differences.is_empty() => None,
            Ok(differences) => Some(Verdict::Differs(self.explain(report, &differences))),
        }
    }

    fn states(&mut self, report: &Report) -> Result<Vec<Difference>, String> {
        let mut ours = State::of_ours(&self.ours, report)?;
        let mut native = State::of_native(&self.native)?;
        if self.native.at_handler && native.pc == ours.pc && native.gpr == ours.gpr {
            calls::settle_frame(self, &ours).map_err(|error| error.to_string())?;
        }
        if let Some(last) = self.native.last {
            let changed = calls::settle(self, &last, &mut native, &mut ours)?;
            if changed {
                self.figures.handed_over += 1;
                ours.give_to(&self.ours, report)?;
            }
        }
        Ok(native.differences(&ours))
    }

    fn explain(&self, report: &Report, differences: &[Difference]) -> String {
        let mut text = format!("at {:#x}{}", report.pc, self.native.place(report.pc));
        text += &format!("\n  {:8}  {:>18}  {:>18}", "", "native", "ppin");
        for difference in differences {
            text += &format!("\n  {difference}");
        }
        text + &self.trail()
    }

    /// The instructions that the native process executed last.
    fn trail(&self) -> String {
        let mut text = "\nlast instructions:".to_owned();
        for step in self.native.trail() {
            let lines = ppin_jit::disasm::lines(step.pc, &step.bytes);
            let words = lines.first().map_or("?", |line| &line.text);
            text += &format!("\n  {:x}  {words}", step.pc);
        }
        text
    }

    fn end(&mut self, ours: ExitStatus) -> Verdict {
        match self.native.run_out() {
            Err(why) => Verdict::Unknown(why),
            Ok((steps, Moved::Ended(native))) => {
                self.figures.instructions += steps;
                if native == ours {
                    return Verdict::Same;
                }
                Verdict::Differs(format!("natively: {native}, under ppin: {ours}"))
            }
            Ok(_) => Verdict::Differs(format!(
                "ours has ended ({ours}), the native process goes on{}",
                self.trail()
            )),
        }
    }

    /// Ours has become another program, which runs natively.
    fn other_program(&mut self) -> Verdict {
        match self.native.run_out() {
            Ok((_, Moved::Executed)) => Verdict::Unknown(
                "the program has executed another one, which is not compared".into(),
            ),
            Ok(_) => Verdict::Differs("only ours executed another program".into()),
            Err(why) => Verdict::Unknown(why),
        }
    }
}

/// Where a process writes to.
struct Output {
    out: File,
    err: File,
}

impl Output {
    fn new() -> Result<Self, Failure> {
        let file = || tempfile::tempfile().map_err(Failure::of_ppin);
        Ok(Self {
            out: file()?,
            err: file()?,
        })
    }

    fn attach(&self, command: &mut Command) -> Result<(), Failure> {
        let copy = |file: &File| file.try_clone().map(Stdio::from).map_err(Failure::of_ppin);
        command
            .stdin(Stdio::null())
            .stdout(copy(&self.out)?)
            .stderr(copy(&self.err)?);
        Ok(())
    }

    fn read(&mut self) -> Result<[Vec<u8>; 2], Failure> {
        let whole = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind()
                .and_then(|()| file.read_to_end(&mut bytes))
                .map_err(Failure::of_ppin)?;
            Ok(bytes)
        };
        Ok([whole(&mut self.out)?, whole(&mut self.err)?])
    }

    fn show(&mut self, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Failure> {
        let [said, complained] = self.read()?;
        let shown = out.write_all(&said).and_then(|()| out.flush());
        shown
            .and_then(|()| err.write_all(&complained))
            .map_err(Failure::of_ppin)
    }
}

fn compare_output(native: &mut Output, ours: &mut Output) -> Result<Verdict, Failure> {
    let (native, ours) = (native.read()?, ours.read()?);
    for (name, native, ours) in [
        ("output", &native[0], &ours[0]),
        ("error output", &native[1], &ours[1]),
    ] {
        if native != ours {
            let at = native.iter().zip(ours).take_while(|(a, b)| a == b).count();
            return Ok(Verdict::Differs(format!(
                "the {name} differs from byte {at} on"
            )));
        }
    }
    Ok(Verdict::Same)
}
