//! Operations to code: which method of the writer each one is.

use super::encode::opcode;
use super::fragment::Emitter;
use super::writer::{Source, Writer};
use alloc::vec::Vec;
use ppin_abi::area::NEAR;
use ppin_form::allocate::{allocate, allocate_keeping, check::check};
use ppin_form::{Cell, Form, InsId, Op};
use ppin_relocator::pc_flag;

impl Emitter {
    /// Gives registers to the temporaries of `form`, which was made from `source`, and emits
    /// its code. `lost` are flags that have been destroyed before it, and then those at its
    /// end.
    pub(crate) fn emit(&mut self, form: &mut Form, source: &Source<'_>, lost: &mut u32) {
        let allocation = if form.keeps_registers() {
            allocate_keeping(form, source.ins)
        } else {
            allocate(form)
        };
        debug_assert_eq!(check(form, source.ins, &allocation, lost), Ok(()));
        let counts = self.counts.len();
        if counts == 0 {
            core::mem::swap(&mut self.counts, &mut form.counts);
        } else {
            self.counts.append(&mut form.counts);
        }
        let mut writer = Writer {
            emitter: self,
            counts,
            form,
            allocation: &allocation,
            source,
            branches: Vec::new(),
            placed: Vec::new(),
            agains: Vec::new(),
            hidden: None,
            prediction: 0,
            encoder: None,
        };
        for op in &form.ops {
            writer.op(op);
        }
        debug_assert!(writer.branches.is_empty(), "a label is placed");
    }
}

impl Writer<'_> {
    /// A table: a line for each operation.
    #[rustfmt::skip]
    fn op(&mut self, op: &Op) {
        match *op {
            Op::Begin { ins, block } => self.begin(ins, block),
            Op::Plain { ins, block } => self.plain(ins, block),
            Op::App { ins } => self.copy(ins),
            Op::AppAimed { ins } => self.aimed(ins),
            Op::AppRebased { ins, base } => self.rebased(ins, base),
            Op::Itself { repeatable } => self.itself(repeatable),
            Op::Ahead => self.ahead(),
            Op::Done { ins } => self.done(ins),
            Op::Inside { ins } => self.inside(ins),
            Op::Nop => self.emitter.hot.nops(1),
            Op::Take { temps } => self.take(temps),
            Op::Give { temps } => self.give(temps),
            Op::GiveByZero { temps, zero } => self.give_by_zero(temps, zero),
            Op::Gone { temps } => self.gone(temps),
            Op::Keep { .. } | Op::Holds { .. } | Op::StillHolds { .. } => {}
            Op::Fill { register, slot } => self.fill(register, slot),
            Op::StillKept { register, slot } => self.still_kept(register, slot),
            Op::KeepAgain { register, slot } => self.keep_again(register, slot),
            Op::HoldAgain { register, disp } => self.emitter.hot.cell(opcode::LOAD, register.number(), disp.cast_unsigned()),
            Op::Lost { register } => self.lost(register),
            Op::Refill { temp } => self.refill(temp),
            Op::Move { to, from } => self.assign(to, from),
            Op::Set { to, value, width } => self.set(to, value, width),
            Op::Not { reg } => self.not(reg),
            Op::Transaction { .. } => self.emitter.hot.transaction(),
            Op::Swap { one, other } => self.swap(one, other),
            Op::Lea { to, base, index, disp } => self.lea(to, base, index, disp),
            Op::Address { to, base, index, scale, narrow, disp } => self.address(to, (base, index), scale, narrow, disp),
            Op::SetWide { to, low, high } => self.set_wide(to, low, high),
            Op::LoadApp { to, off } => self.load_app(to, off),
            Op::Lifted { ins, uses } => self.lifted(ins, uses),
            Op::IfFlags { condition, to } => self.if_flags(condition, to),
            Op::Unless { ins, to } => self.unless(ins, to),
            Op::IfTaken { ins, to } => self.if_taken(ins, to),
            Op::FlagsKept => self.flags_kept(),
            Op::IfResult { to } => self.if_result(to),
            Op::CallRoutine { routine, .. } => self.call_routine(routine),
            Op::Load { to, base } => self.at(opcode::LOAD, to, base),
            Op::Store { base, from } => self.at(opcode::STORE, from, base),
            Op::StoreBytes { base, from, bytes } => self.store_bytes(base, from, bytes),
            Op::Pop { to } => self.pop(to),
            Op::LoadCell { to, cell, width } => self.cell(opcode::LOAD, cell, to, width),
            Op::StoreCell { cell, from, width } => self.cell(opcode::STORE, cell, from, width),
            Op::SetCell { cell, value, width } => self.set_cell(cell, value, width),
            Op::AddCell { cell, amount } => self.add(cell, amount),
            Op::Counted { first, len } => self.counted(first, len),
            Op::IfByte { cell, to } => self.if_byte(cell, to),
            Op::LoadByte { to, cell } => self.load_byte(to, cell),
            Op::StoreField { cell, from, bytes } => self.store_field(cell, from, bytes),
            Op::SetField { cell, value, bytes } => self.set_field(cell, value, bytes),
            Op::LeaSum { to, sum } => self.lea_sum(to, sum),
            Op::LeaApp { to, off } => self.lea_app(to, off),
            Op::LoadAppFar { to, off } => self.load_app_far(to, off),
            Op::Again { .. } => self.agains.push(self.emitter.hot.here()),
            Op::JumpAgain { temps } => self.jump_again(temps),
            Op::LoadSlot { to, slot } => self.slot(opcode::LOAD, to, slot),
            Op::LeaSlot { to, slot } => self.slot(opcode::LEA, to, slot),
            Op::JumpSlot { slot } => self.jump_slot(slot),
            Op::LoadPrediction { to } => self.load_prediction(to),
            Op::JumpPredicted => self.jump_predicted(),
            Op::JumpSealed { ins } => self.jump_sealed(ins),
            Op::LeaSealed { to } => self.slot(opcode::LEA, to, self.prediction),
            Op::LeaCases { to } => self.lea_cases(to),
            Op::LoadTable { to } => self.load_table(to),
            Op::LoadCases { to } => self.slot(opcode::LOAD, to, self.prediction + 1),
            Op::NameCases { to } => self.name_cases(to),
            Op::LoadCounters { to } => self.load_counters(to),
            Op::AddBundle { bundle } => self.add_bundle(bundle),
            Op::AddBundleBy { bundle, by } => self.add_bundle_by(bundle, by),
            Op::LoadNext { to, ins } => self.load_next(to, ins),
            Op::LoadReturn { to, ins } => self.load_return(to, ins),
            Op::PushNext { ins } => self.push_next(ins),
            Op::PopEntry { index, entries } => self.pop_entry(index, entries),
            Op::Here { to } => self.load_here(to),
            Op::Return => self.emitter.hot.push(0xc3),

            Op::LoadStack { to } => self.load_stack(to),
            Op::StackAway { by } => self.stack_away(by),
            Op::StackAwayChecked { target, by } => self.stack_away_checked([target, by]),
            Op::StackBack { from } => self.stack_back(from),
            Op::ClearBelow { by } => self.clear_below(by),
            Op::StackWord { to } => self.stack_word(to),
            Op::WordAt { reg } => self.word_at(reg),
            Op::WordOffset { reg } => self.word_offset(reg),
            Op::NearIndex { to, from } => self.near_index(to, from),
            Op::LoadTarget { to, ins } => self.load_target(to, ins),
            Op::LeaOperand { to, ins } => self.lea_operand(to, ins),
            Op::ReadFs { to } => self.fs_base(0, to),
            Op::WriteFs { from } => self.fs_base(2, from),
            Op::SaveFlags { .. } => self.save_flags(),
            Op::RestoreFlags { dead, .. } => self.restore_flags(dead),
            Op::Comparing { on } => self.comparing(on),
            Op::CompareSource { first, last, word, .. } => self.compare_source(first, last, word),
            Op::LeaveIfBelow { ins, width, .. } => self.leave_if_below(ins, width),
            Op::IfZero { to, .. } => self.if_zero(to),
            Op::HiddenJump { by, entry } => self.hidden_jump(by, entry),
            Op::UnlessOne { to, .. } => self.unless_one(to),
            Op::JumpUnlessOne { entry, .. } => self.jump_unless_one(entry),
            Op::Goto { to } => self.goto(to),
            Op::GotoFar { to } => self.goto_far(to),
            Op::GotoBack { to } => self.goto_back(to),
            Op::CallOver { to } => self.call_over(to),
            Op::Returned { temps } => self.comes_in(temps),
            Op::Arrived { temps, elsewhere } => self.arrived(temps, elsewhere),
            Op::Entered => self.entered(),
            Op::Called => self.emitter.row(0),
            Op::CalleeBegins | Op::FlagsDie { .. } => {}
            Op::Label { label, live } => self.label(label, live),
            Op::Record { to, record } => self.record(to, record),
            Op::JumpCell { cell } => self.jump_cell(cell),
            Op::JumpNear { index, .. } => self.jump_cell(Cell { base: Some(index), disp: NEAR as i32 }),
            Op::JumpCases { slot } => self.jump_cases(slot),
            Op::JumpByIndex { slots, index } => self.jump_by_index(slots, index),
            Op::Jump { entry } => self.jump(entry),
            Op::ExitTaken { ins, context } => self.exit_taken(ins, context),
            Op::ExitCall { ins, context } => self.exit_call(ins, context),
            Op::ExitIf { ins, context } => self.exit_if(ins, context),
            Op::ExitNext { ins, context } => self.exit_next(ins, context),
            Op::Within { ins, to } => self.within(ins, to),
            Op::GoWithin { to } => self.go_within(to),
            Op::Announced => self.announced(),
            Op::Abort => self.emitter.jump_to_abort(),
        }
    }

    fn begin(&mut self, ins: InsId, block: bool) {
        let offset = self.source.ins(ins).offset;
        self.emitter.begin(offset, block);
    }

    fn plain(&mut self, ins: InsId, block: bool) {
        let ins = self.source.ins(ins);
        self.emitter.begin(ins.offset, block);
        self.emitter.hot.bytes(self.source.bytes(ins));
    }

    fn copy(&mut self, ins: InsId) {
        let bytes = self.source.bytes(self.source.ins(ins));
        self.emitter.hot.bytes(bytes);
    }

    fn itself(&mut self, repeatable: bool) {
        let repeatable = if repeatable { pc_flag::REPEATABLE } else { 0 };
        self.emitter.row(pc_flag::INSTRUCTION | repeatable);
    }

    fn ahead(&mut self) {
        if let Some(row) = self.emitter.pc_map.last_mut() {
            row.flags |= pc_flag::AHEAD;
        }
    }

    fn done(&mut self, ins: InsId) {
        let end = self.source.ins(ins).end();
        self.emitter.belongs_to(end);
    }

    fn inside(&mut self, ins: InsId) {
        let start = self.source.ins(ins).offset;
        self.emitter.belongs_to(start);
    }

    /// What was emitted so far is for threads that arrive by indirect branches.
    fn entered(&mut self) {
        let entry = u8::try_from(self.emitter.hot.here());
        debug_assert!(entry.is_ok(), "what comes before the trace is short");
        self.emitter.entry = entry.unwrap_or_default();
    }

    /// Additions have just been made.
    fn counted(&mut self, first: u16, len: u16) {
        let done = self.emitter.hot.here();
        let first = self.counts + usize::from(first);
        for row in &mut self.emitter.counts[first..first + usize::from(len)] {
            row.done = done;
        }
    }

    /// The kernel may abort from here on.
    fn announced(&mut self) {
        self.emitter.announced = self.emitter.hot.here();
    }
}
