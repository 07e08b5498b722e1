//! Landings: where indirect jumps and calls arrive that go to fragments without code for that
//! ([`ppin_indirect::Landing`]).
//!
//! ```text
//!        lahf; seto al
//!        cmp rcx, [rip + its Landing::pc]
//!        jne missed                       some other address has the same place in the table
//!        add al, 127; sahf
//!        mov rax, gs:[Spill::Rax]
//!        mov rcx, gs:[Spill::Rcx]
//!        jmp [rip + its Landing::target]
//! ```
//! They are code of the runtime, not made at run time: nothing need be writable and executable for
//! them, and all processes share their pages. Those in use lie side by side.

use super::disp;
use ppin_abi::area::{Area, Entry, MISPREDICTED, NOTE_BY_RAX, near_index};
use ppin_indirect::{LANDING_LEN, LANDINGS, LANDINGS_COUNT, ready};
use ppin_os::peek;

unsafe extern "C" {
    /// Entry: app target in rcx, rcx and rax spilled. The first of [`LANDINGS_COUNT`], each
    /// [`ppin_indirect::LANDING_LEN`] bytes long.
    pub fn landings_start();
    /// The address behind them.
    pub fn landings_end();
}

core::arch::global_asm!(
    // In a section of its own: the rest of the gate, which each start runs, stays together.
    ".section .text.landings,\"ax\",@progbits",
    ".balign 64",
    ".globl landings_start, landings_end",
    ".hidden landings_start, landings_end",
    "landing_missed:",
    "add al, 127",
    "sahf",
    "jmp qword ptr gs:[{not_near}]",
    ".balign 64",
    "landings_start:",
    ".set landing, 0",
    ".rept {count}",
    ".org landings_start + {len} * landing",
    "lahf",
    "seto al",
    "cmp rcx, [rip + {landings} + 16 * landing]",
    "jne landing_missed",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{rax}]",
    "mov rcx, gs:[{rcx}]",
    "jmp qword ptr [rip + {landings} + 16 * landing + 8]",
    ".set landing, landing + 1",
    ".endr",
    ".org landings_start + {len} * {count}",
    "landings_end:",
    rax = const disp::SPILL_RAX,
    rcx = const disp::SPILL_RCX,
    not_near = const Entry::NotNear.disp(),
    count = const LANDINGS_COUNT,
    len = const LANDING_LEN,
    landings = sym LANDINGS,
);

/// Where a thread goes on that has come to `pc` by an indirect branch to `target` in line: it has
/// found a page of its table that was not filled yet, and is now. Who asks knows that it was no return
/// ([`super::ret::returned_to_nowhere`]), which need not have noted where it was.
#[must_use]
pub fn arrived_nowhere(area: &Area, pc: u64, target: u64) -> Option<u64> {
    let mut code = [0; NOTE_BY_RAX.len()];
    let ours = pc == 0
        && peek::read(area.left_at, &mut code) == code.len()
        && (code == NOTE_BY_RAX || code.starts_with(&MISPREDICTED))
        && ready(area, near_index(target));
    ours.then(|| area.entry[Entry::NotNear as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landings_lie_at_equal_distances() {
        let [start, end] = [landings_start, landings_end].map(|at| at as *const () as usize);
        assert_eq!(end - start, LANDINGS_COUNT * LANDING_LEN);
    }
}
