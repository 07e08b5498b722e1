//! Calls of analysis routines, with and without a condition.

use super::fitting;
use super::ins::Ins;
use crate::function::Outcome;
use crate::insert::{Arg, IPoint, Refused, RoutineId};
use crate::insertions::{CallInsertion, Condition, Destination, Value};
use crate::register::Reg;
use crate::routine::Routine;
use crate::source::Predicate;

impl<'t> Ins<'t> {
    /// Calls an analysis routine; its result, if it has one, is dropped. Several calls at one place
    /// run in the order of their insertion.
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted.
    pub fn insert_call(
        &self,
        point: IPoint,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        let called = self.called(point, routine, args)?;
        self.insert(point, None, called)
    }

    /// Calls a plain routine with a result, which becomes the value of the program's register `reg`.
    /// What was in it may be an argument. The instruction, or behind it the next one, finds the new
    /// value, and so does whoever looks at the program there: debuggers, signal handlers. If the
    /// instruction faults and a handler returns to it, the routine may be called again, with the
    /// value that it has put there, or that the handler has.
    ///
    /// ```text
    /// // What CPUID says of its first leaf.
    /// ins.insert_call_into(IPoint::After, Reg::Rcx, WITHOUT_AVX, &[Arg::Reg(Reg::Rcx)])?;
    /// ```
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted. [`Refused::Result`]: the routine returns
    /// nothing. [`Refused::StackPointer`]: `reg` is rsp. [`Refused::Point`]: anywhere in the block.
    pub fn insert_call_into(
        &self,
        point: IPoint,
        reg: Reg,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        if reg == Reg::Rsp {
            return Err(Refused::StackPointer);
        }
        self.insert_into(point, Destination::Register(reg), routine, args)
    }

    /// Calls a plain routine with a result; unless that is 0, the program goes on at the address that
    /// it is, as after a jump. So an instruction is left out (the result is the address of the next
    /// one), or another piece of code is executed in its place. Of what is inserted at the same place,
    /// calls that were inserted earlier are made in any case; all others, counts and records are for
    /// who stays.
    ///
    /// ```text
    /// // What RDTSC says is up to the tool.
    /// ins.insert_call_into(IPoint::Before, Reg::Rax, LOW, &[CLOCK])?;
    /// ins.insert_call_into(IPoint::Before, Reg::Rdx, HIGH, &[CLOCK])?;
    /// ins.insert_jump(IPoint::Before, ITSELF, &[Arg::NextAddr])?;
    /// ```
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted. [`Refused::Result`]: the routine returns
    /// nothing. [`Refused::Point`]: anywhere in the block.
    pub fn insert_jump(
        &self,
        point: IPoint,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        self.insert_into(point, Destination::ProgramCounter, routine, args)
    }

    /// Calls a plain routine with a result, the low `bytes` of which (1, 2, 4 or 8) are stored to the
    /// program's memory at `address`: that of a memory operand, a number, or what is in a register. Before
    /// the instruction, which finds the new value, or behind it. Where the program may not write, it faults
    /// as if the instruction had, or behind it, the next one; if a handler returns to the instruction, the
    /// routine is called again. Code that is changed so is executed as it is then, but for what follows in
    /// the same trace.
    ///
    /// ```text
    /// // What is read from the device is up to the tool.
    /// ins.insert_store(IPoint::Before, Arg::MemoryEa(0), 4, VALUE, &[Arg::MemoryEa(0)])?;
    /// ```
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted. [`Refused::Result`]: the routine returns
    /// nothing. [`Refused::Address`]: that is no address of the program, or another number of bytes.
    /// [`Refused::Point`]: anywhere in the block.
    pub fn insert_store(
        &self,
        point: IPoint,
        address: Arg,
        bytes: u8,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        let given = self.value(address, self.is_after(point)?)?;
        let fits = given.is_of_the_app() && !matches!(address, Arg::MemorySize(_));
        if !fits || !matches!(bytes, 1 | 2 | 4 | 8) {
            return Err(Refused::Address);
        }
        self.insert_into(point, Destination::Memory(given, bytes), routine, args)
    }

    fn insert_into(
        &self,
        point: IPoint,
        into: Destination,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        if point == IPoint::Anywhere {
            return Err(Refused::Point);
        }
        if self.is_taken(point) && !matches!(into, Destination::Register(_)) {
            return Err(Refused::TakenSide);
        }
        let called = self.called(point, routine, args)?;
        if !self.has_result(routine)? {
            return Err(Refused::Result);
        }
        let call = self.call(point, None, called)?;
        let into = Some(into);
        self.sight.insert_call(CallInsertion { into, ..call });
        Ok(())
    }

    /// The same, but only if the instruction does its work: not before a conditional move whose
    /// condition does not hold, nor before a string instruction that is to be repeated no times.
    /// For other instructions it is [`Self::insert_call`].
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted. [`Refused::Predicate`]: it cannot be told
    /// there whether the instruction does its work. That is so behind it, and if a mask decides.
    pub fn insert_predicated_call(
        &self,
        point: IPoint,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        let called = self.called(point, routine, args)?;
        match self.predicate() {
            Predicate::None => self.insert(point, None, called),
            Predicate::Told if !self.is_after(point)? => {
                let call = self.call(point, None, called)?;
                self.sight.insert_call(CallInsertion {
                    predicated: true,
                    ..call
                });
                Ok(())
            }
            Predicate::Told | Predicate::Masked => Err(Refused::Predicate),
        }
    }

    /// Calls a plain routine with a result; if that is not 0, also the routine which is named by
    /// [`If::then`]. This is the way to look often and act seldom: a short routine that decides
    /// becomes a part of translated code, and the other one stands out of its way.
    ///
    /// ```text
    /// ins.insert_if(IPoint::Before, DUE, &[Arg::State(COUNTDOWN)])?
    ///     .then(SAMPLE, &[Arg::InsAddr])?;
    /// ```
    ///
    /// # Errors
    /// What cannot be granted; nothing is inserted before [`If::then`].
    pub fn insert_if(
        &self,
        point: IPoint,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<If<'t>, Refused> {
        let condition = self.called(point, routine, args)?;
        self.has_result(routine)?
            .then_some(If {
                ins: *self,
                point,
                condition,
            })
            .ok_or(Refused::Result)
    }

    /// Whether it is a plain routine that returns something.
    fn has_result(&self, routine: RoutineId) -> Result<bool, Refused> {
        let plain = self.routine(routine)?.plain();
        Ok(plain.is_some_and(|function| function.outcome() != Outcome::None))
    }

    fn routine(&self, routine: RoutineId) -> Result<&'static Routine, Refused> {
        let routines = self.sight.limits.routines;
        routines.get(usize::from(routine.0)).ok_or(Refused::Routine)
    }

    /// A call that may be made at `point`.
    fn called(
        &self,
        point: IPoint,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<Condition, Refused> {
        let after = self.is_after(point)?;
        fitting::check(self.routine(routine)?, args, self.sight.limits.states)?;
        let args = args.iter().map(|&arg| self.value(arg, after));
        let args = args.collect::<Result<_, _>>()?;
        Ok(Condition { routine, args })
    }

    fn insert(
        &self,
        point: IPoint,
        condition: Option<Condition>,
        called: Condition,
    ) -> Result<(), Refused> {
        let decided = condition.iter().flat_map(|condition| &condition.args);
        let fixed = |value: &Value| value.is_fixed();
        let anywhere = point == IPoint::Anywhere && decided.chain(&called.args).all(fixed);
        let call = self.call(point, condition, called)?;
        self.sight.insert_call(CallInsertion { anywhere, ..call });
        Ok(())
    }

    fn call(
        &self,
        point: IPoint,
        condition: Option<Condition>,
        called: Condition,
    ) -> Result<CallInsertion, Refused> {
        Ok(CallInsertion {
            ins: self.index as u32,
            after: self.is_after(point)?,
            taken: self.is_taken(point),
            anywhere: false,
            predicated: false,
            condition,
            into: None,
            routine: called.routine,
            args: called.args,
        })
    }
}

/// The condition of a call ([`Ins::insert_if`]).
#[must_use = "nothing is inserted before `then`"]
pub struct If<'t> {
    ins: Ins<'t>,
    point: IPoint,
    condition: Condition,
}

impl If<'_> {
    /// What is called if the condition holds, at the same place: its arguments are those of the same
    /// moment. It may be any routine.
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted.
    pub fn then(self, routine: RoutineId, args: &[Arg]) -> Result<(), Refused> {
        let called = self.ins.called(self.point, routine, args)?;
        self.ins.insert(self.point, Some(self.condition), called)
    }
}
