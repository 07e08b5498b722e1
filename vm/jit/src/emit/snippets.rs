//! Short pieces of hot code that several rewriting rules share.

use super::fragment::Emitter;
use crate::operand::absolute::Form;
use dynasm::dynasm;
use ppin_abi::addr::AppPc;
use ppin_abi::area::{APP_GS_BASE, Entry, Spill};
use ppin_abi::record::CallArg;
use ppin_relocator::{RelocKind, SlotInit};

#[allow(
    clippy::useless_conversion,
    reason = "the assembler converts register numbers"
)]
impl Emitter {
    /// `mov gs:[Spill::Rcx], rcx`
    pub(crate) fn save_rcx(&mut self) {
        let disp = Spill::Rcx.disp() as i32;
        dynasm!(self.hot; .arch x64; gs mov [DWORD disp], rcx);
    }

    /// The same, and a row: from here on only the thread area has the app's value.
    pub(crate) fn spill_rcx(&mut self, app: u32) {
        self.save_rcx();
        self.row(app, Spill::Rcx.bit(), 0);
    }

    /// `mov rcx, gs:[Spill::Rcx]`; the caller writes the next row.
    pub(crate) fn unspill_rcx(&mut self) {
        let disp = Spill::Rcx.disp() as i32;
        dynasm!(self.hot; .arch x64; gs mov rcx, [DWORD disp]);
    }

    /// `mov gs:[Spill::Rdx], rdx`
    pub(crate) fn save_rdx(&mut self) {
        let disp = Spill::Rdx.disp() as i32;
        dynasm!(self.hot; .arch x64; gs mov [DWORD disp], rdx);
    }

    /// `mov rdx, gs:[Spill::Rdx]`
    pub(crate) fn unspill_rdx(&mut self) {
        let disp = Spill::Rdx.disp() as i32;
        dynasm!(self.hot; .arch x64; gs mov rdx, [DWORD disp]);
    }

    /// `mov gs:[spill], register`
    pub(crate) fn save(&mut self, spill: Spill) {
        let disp = spill.disp() as i32;
        dynasm!(self.hot; .arch x64; gs mov [DWORD disp], Rq(spill.register()));
    }

    /// `mov register, gs:[spill]`
    pub(crate) fn unspill(&mut self, spill: Spill) {
        let disp = spill.disp() as i32;
        dynasm!(self.hot; .arch x64; gs mov Rq(spill.register()), [DWORD disp]);
    }

    /// `mov register, gs:[app_gs_base]`
    pub(crate) fn load_app_gs_base(&mut self, spill: Spill) {
        let disp = APP_GS_BASE as i32;
        dynasm!(self.hot; .arch x64; gs mov Rq(spill.register()), [DWORD disp]);
    }

    /// `mov rcx, [rip + slot]`: where the thread's counters of this image are.
    pub(crate) fn load_image_counters(&mut self) {
        let slot = self.image_counters_slot();
        dynasm!(self.hot; .arch x64; mov rcx, [rip + 0]);
        self.relocate_hot(RelocKind::Slot(slot));
    }

    /// `jmp gs:[entry]`
    pub(crate) fn jump_to(&mut self, entry: Entry) {
        let disp = entry.disp() as i32;
        dynasm!(self.hot; .arch x64; gs jmp QWORD [DWORD disp]);
    }

    /// The call of a routine, for the instruction at `pc`, `app` bytes behind the head.
    ///
    /// ```text
    ///          mov gs:[Spill::Rcx], rcx
    ///          lea rcx, [rip + record]
    ///          jmp gs:[Entry::Bridge]
    ///  resume:                                  all app registers in place again
    /// ```
    pub(crate) fn bridge(&mut self, pc: AppPc, app: u32, routine: u16, args: &[CallArg]) {
        const LEN: u32 = 9 + 7 + 8;
        let resume = self.hot.here() + LEN + self.mark_len();
        let record = self.call_record(pc, routine, args, resume);
        self.spill_rcx(app);
        self.point_rcx_at(record);
        self.jump_to(Entry::Bridge);
        debug_assert_eq!(self.hot.here(), resume);
        self.row(app, 0, 0);
        self.still_announced(app);
    }

    /// `lea rcx, [rip + record]`, with the record at `cold`.
    pub(crate) fn point_rcx_at(&mut self, cold: u32) {
        dynasm!(self.hot; .arch x64; lea rcx, [rip + 0]);
        self.relocate_hot(RelocKind::Cold(cold));
    }

    /// The code of `form`, whose field is to stand for `operand`.
    pub(crate) fn form(&mut self, form: &Form, operand: AppPc) {
        let start = self.hot.here();
        self.hot.bytes(form.bytes());
        let field = u32::from(form.disp_at);
        let behind = i32::from(form.len) - i32::from(form.disp_at);
        let operand = self.off(operand);
        let (pc_bias, kind) = if self.is_low() {
            (0, RelocKind::AppAbs32(operand))
        } else {
            (behind, RelocKind::App(operand))
        };
        self.relocate_hot_at(start + field, pc_bias, kind);
    }

    /// `push qword [rip + slot]`: the app sees `pc` pushed.
    pub(crate) fn push_app_address(&mut self, pc: AppPc) {
        let slot = self.app_slot(pc);
        dynasm!(self.hot; .arch x64; push QWORD [rip + 0]);
        self.relocate_hot(RelocKind::Slot(slot));
    }

    /// `mov rcx, [rip + slot]`: the app address `pc`.
    pub(crate) fn load_app_address(&mut self, pc: AppPc) {
        let slot = self.app_slot(pc);
        dynasm!(self.hot; .arch x64; mov rcx, [rip + 0]);
        self.relocate_hot(RelocKind::Slot(slot));
    }

    fn app_slot(&mut self, pc: AppPc) -> u16 {
        let off = self.off(pc);
        self.slot(SlotInit::App(off))
    }
}
