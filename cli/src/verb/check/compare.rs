//! Steps the native process as far as the one under ppin, and compares them.

use super::native::Moved;
use super::ours::{Report, Said};
use super::output::Output;
use super::pair::Pair;
use super::state::{Difference, State};
use super::{calls, stack};
use crate::failure::Failure;
use ppin_abi::addr::AppPc;
use std::os::unix::fs::FileExt;
use std::process::ExitStatus;

/// Outcome.
pub enum Verdict {
    /// Both did the same.
    Same,
    /// They did not, as this says.
    Differs(String),
    /// It cannot be compared further.
    Unknown(String),
}

impl Pair {
    /// Until both have ended, or one is not where the other is.
    pub fn compare(&mut self) -> Verdict {
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
            (false, None) if self.is_there(report) => Ok(Moved::There(0)),
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

    /// Whether the native process is as far already: ours has executed nothing since the last report. (One that
    /// has come round to the same state need not be followed.)
    fn is_there(&self, report: &Report) -> bool {
        let native = State::of_native(&self.native);
        let ours = State::of_ours(&self.ours, report);
        let (Ok(native), Ok(ours)) = (native, ours) else {
            return false;
        };
        native.pc == ours.pc && native.gpr == ours.gpr
    }

    fn states(&mut self, report: &Report) -> Result<Vec<Difference>, String> {
        let mut ours = State::of_ours(&self.ours, report)?;
        let mut native = State::of_native(&self.native)?;
        if self.native.at_handler && native.pc == ours.pc && native.gpr == ours.gpr {
            calls::hand_over_frame(self, &ours).map_err(|error| error.to_string())?;
        }
        if let Some(last) = self.native.last {
            let changed = calls::hand_over_answer(self, &last, &mut native, &mut ours)?;
            if changed {
                self.figures.handed_over += 1;
                ours.give_to(&self.ours, report)?;
            }
        }
        if self.instrumented && self.flags_die(native.pc) {
            ours.take_flags_of(&native);
        }
        Ok(native.differences(&ours))
    }

    /// Whether the program overwrites all arithmetic flags at `pc` before it uses one.
    fn flags_die(&self, pc: u64) -> bool {
        let mut bytes = [0; ppin_jit::MAX_TRACE_BYTES];
        let len = self.native.mem.read_at(&mut bytes, pc).unwrap_or(0);
        ppin_liveness::beyond::flags_die(AppPc(pc), &bytes[..len])
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
            let lines = ppin_decode::disasm::lines(step.pc, &step.bytes);
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

/// Compares what both have written.
pub fn compare_output(native: &mut Output, ours: &mut Output) -> Result<Verdict, Failure> {
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
