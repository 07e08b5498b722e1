//! Code that compares its source: the app's bytes in memory with those that were
//! translated, right before the instructions made from them run.
//!
//! ```text
//!           mov gs:[Spill::Rax], rax; mov gs:[Spill::Rcx], rcx
//!           lahf; seto al
//!           sub gs:[PACE], 1; js changed                       provisional code only
//!           mov rcx, bytes; cmp rcx, [source]; jne changed     for each 8 bytes
//!           ...; cmp rcx, width; jb near                       see ppin-lower, compare.rs
//!           add al, 127; sahf                                  unless the flags are dead
//!           mov rcx, gs:[Spill::Rcx]; mov rax, gs:[Spill::Rax]
//!
//! changed:                                                     (near is the same)
//!           add al, 127; sahf                                  cold
//!           mov rax, gs:[Spill::Rax]
//!           lea rcx, [rip + record]
//!           jmp gs:[Entry::LeaveTrap]
//! ```
//! The flags are given back on the way to the VM even if what was translated does not
//! need them: other instructions will run instead. Fewer than 8 bytes are compared with
//! immediates, and rcx is spilled on the way out. No byte beyond the source is read.

use super::fragment::Emitter;
use dynasm::dynasm;
use ppin_abi::addr::AppPc;
use ppin_abi::area::{Entry, PACE, Spill};
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_form::{COMPARED_AT_ONCE as WORD, ins_context};
use ppin_operand::absolute::Form;
use ppin_relocator::RelocKind;

/// `jne rel32`
const JNE: [u8; 2] = [0x0f, 0x85];
/// `jb rel32`
const JB: [u8; 2] = [0x0f, 0x82];
/// `js rel32`
const JS: [u8; 2] = [0x0f, 0x88];

impl Emitter {
    /// Leaves for the VM if the app's memory at `pc`, `app` bytes behind the head, does not
    /// hold `bytes`. `word`: rcx is spilled and compares.
    pub(super) fn compare(&mut self, pc: AppPc, app: u32, bytes: &[u8], word: bool) {
        let changed = self.way_out(Trap::Changed, (pc, app), word);
        self.pace(changed);
        for (at, len) in pieces(bytes.len()) {
            self.compare_piece(pc.wrapping_add(at as u64), &bytes[at..at + len]);
            self.branch_out(JNE, changed);
        }
    }

    /// Leaves for the VM if rcx, which is spilled, is below `width`: stores of the trace, which begins at `pc`,
    /// `app` bytes behind the head, may meet its source.
    pub(super) fn leave_if_below(&mut self, pc: AppPc, app: u32, width: i32) {
        let near = self.way_out(Trap::Near, (pc, app), true);
        dynasm!(self.hot; .arch x64; cmp rcx, DWORD width);
        self.branch_out(JB, near);
    }

    fn branch_out(&mut self, opcode: [u8; 2], to: u32) {
        self.hot.bytes(&opcode);
        self.hot.push_i32(0);
        self.relocate_hot(RelocKind::Cold(to));
    }

    /// Lets the VM look once in a while whether provisional code must compare itself at all.
    fn pace(&mut self, changed: u32) {
        if !self.context.contains(Context::PROVISIONAL) {
            return;
        }
        let pace = PACE as i32;
        dynasm!(self.hot; .arch x64; gs sub QWORD [DWORD pace], BYTE 1);
        self.branch_out(JS, changed);
    }

    /// Cold code for when the instruction at `pc`, `app` bytes behind the head, must not run; its offset.
    fn way_out(&mut self, why: Trap, (pc, app): (AppPc, u32), rcx_spilled: bool) -> u32 {
        let context = ins_context(self.context, app);
        let record = self.trap_record(pc, why, context);
        let here = self.cold.here();
        let (spill_rax, spill_rcx) = (Spill::Rax.disp() as i32, Spill::Rcx.disp() as i32);
        let leave = Entry::LeaveTrap.disp() as i32;
        dynasm!(self.cold; .arch x64
            ; add al, BYTE 127
            ; sahf
            ; gs mov rax, [DWORD spill_rax]
        );
        if !rcx_spilled {
            dynasm!(self.cold; .arch x64; gs mov [DWORD spill_rcx], rcx);
        }
        dynasm!(self.cold; .arch x64; lea rcx, [rip + 0]);
        self.relocate_cold_at(self.cold.here() - 4, 4, RelocKind::Cold(record));
        dynasm!(self.cold; .arch x64; gs jmp QWORD [DWORD leave]);
        here
    }

    /// `cmp [pc], piece`
    fn compare_piece(&mut self, pc: AppPc, piece: &[u8]) {
        let form = match <[u8; WORD]>::try_from(piece) {
            Ok(word) => {
                let word = i64::from_le_bytes(word);
                dynasm!(self.hot; .arch x64; mov rcx, QWORD word);
                Form::copy(&CMP_RCX, 3)
            }
            Err(_) => with_immediate(piece),
        };
        let form = if self.is_low() {
            form.and_then(Form::to_absolute)
        } else {
            form
        };
        // No form is too long.
        if let Some(form) = form {
            self.form(&form, pc);
        }
    }
}

/// `cmp rcx, [rip + 0]`
const CMP_RCX: [u8; 7] = [0x48, 0x3b, 0x0d, 0, 0, 0, 0];

/// `cmp [rip + 0], piece`, of 1, 2 or 4 bytes.
fn with_immediate(piece: &[u8]) -> Option<Form> {
    let opcode: &[u8] = match piece.len() {
        1 => &[0x80, 0x3d],
        2 => &[0x66, 0x81, 0x3d],
        _ => &[0x81, 0x3d],
    };
    let code = [opcode, &[0; 4], piece].concat();
    Form::copy(&code, opcode.len() as u8)
}

/// Offset and length of what is compared at a time; the last may overlap with the one
/// before.
fn pieces(len: usize) -> impl Iterator<Item = (usize, usize)> {
    let unit = if len >= WORD {
        WORD
    } else {
        (1 << len.ilog2()) as usize
    };
    let last = len - unit;
    (0..len).step_by(unit).map(move |at| (at.min(last), unit))
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn every_byte_and_none_behind_is_compared() {
        for len in 1..40 {
            let mut seen = vec![false; len];
            for (at, size) in pieces(len) {
                seen[at..at + size].fill(true);
            }
            assert!(seen.into_iter().all(|byte| byte), "{len}");
        }
    }
}
