//! Indirect branch lookup (IBL): finds the fragment for the app address in rcx without entering the
//! VM.
//!
//! The table is shared by all threads and open-addressed; [`ppin_indirect`] owns it.
//! Flags are kept in the `lahf; seto al` form (as `pc_flag::FLAGS_IN_RAX` says of emitted code).

use super::disp;
use ppin_abi::area::{Entry, GOING_TO, LEFT_AT, NEAR, NEAR_COUNTDOWN, PREDICTION_COUNTDOWN};

unsafe extern "C" {
    /// Entry: app target in rcx, app rcx spilled. Hit: the fragment, with every
    /// register restored. Miss: the VM.
    pub fn ibl_start();
    /// Like [`ibl_start`], but every so many lookups enter the VM (see [`crate::sampling`]).
    pub fn ibl_counted();
    /// Entry: see [`ppin_abi::area::Entry::NotNear`].
    pub fn not_near();
    /// Entry: see [`ppin_abi::area::Entry::ArrivedElsewhere`].
    pub fn arrived_elsewhere();
    /// Entry: see [`ppin_abi::area::Entry::Mispredicted`].
    pub fn mispredicted();
    /// The address after the last instruction.
    pub fn ibl_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl ibl_start, ibl_counted, ibl_end, not_near, arrived_elsewhere, mispredicted",
    ".hidden not_near, arrived_elsewhere, mispredicted",
    ".hidden ibl_start", ".hidden ibl_counted", ".hidden ibl_end",
    "ibl_start:",
    "mov gs:[{rax}], rax",
    "mov gs:[{rdx}], rdx",
    "lahf",
    "seto al",
    "mov gs:[{flags}], rax",
    "mov rdx, [rip + {table}]",
    "imul eax, ecx, {golden}",
    "shr eax, {shift}",
    "and eax, [rdx - 16]",          // mask, in entries
    "shl rax, 4",
    "add rdx, rax",
    "2:",
    "mov rax, [rdx]",
    "cmp rax, rcx",
    "jne 3f",
    "mov rax, [rdx + 8]",
    "test rax, rax",                // address 0 is the tag of an empty entry
    "jz 4f",
    "mov gs:[{target}], rax",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{rax}]",
    "mov rdx, gs:[{rdx}]",
    "mov rcx, gs:[{rcx}]",
    "jmp qword ptr gs:[{target}]",
    "3:",
    "add rdx, 16",
    "test rax, rax",
    "jnz 2b",
    "4:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{rax}]",
    "mov rdx, gs:[{rdx}]",
    "jmp leave_indirect",
    "ibl_counted:",                 // flags stay as they are
    "mov gs:[{saved_target}], rcx",
    "mov rcx, gs:[{countdown}]",
    "jrcxz 5f",
    "lea rcx, [rcx - 1]",
    "mov gs:[{countdown}], rcx",
    "mov rcx, gs:[{saved_target}]",
    "jmp ibl_start",
    "5:",
    "mov rcx, gs:[{saved_target}]",
    "jmp leave_indirect",
    "arrived_elsewhere:",
    "not rax",
    "lea rcx, [rcx + rax]",
    "not_near:",                    // flags stay as they are
    "mov rax, gs:[{rax}]",
    "mov gs:[{saved_target}], rcx",
    "mov rcx, gs:[{near_countdown}]",
    "jrcxz 5b",
    "lea rcx, [rcx - 1]",
    "mov gs:[{near_countdown}], rcx",
    "mov rcx, gs:[{saved_target}]",
    "jmp gs:[{ibl_jmp}]",
    "mispredicted:",                // flags stay as they are
    "mov gs:[{left_at}], rax",
    "mov gs:[{saved_target}], rcx",
    "mov rcx, gs:[{prediction_countdown}]",
    "jrcxz 6f",
    "lea rcx, [rcx - 1]",
    "mov gs:[{prediction_countdown}], rcx",
    "mov rcx, gs:[{saved_target}]",
    "movzx eax, ch",                // near_index
    "lea eax, [rax + rax * 8]",
    "lea eax, [rax + rcx]",
    "lea eax, [rax * 8]",
    "movzx eax, ax",
    "jmp gs:[rax + {near}]",
    "6:",
    "mov rax, gs:[{rax}]",
    "jmp 5b",
    "ibl_end:",
    rax = const disp::SPILL_RAX,
    rcx = const disp::SPILL_RCX,
    rdx = const disp::SPILL_RDX,
    flags = const disp::SPILL_FLAGS,
    target = const GOING_TO,
    saved_target = const disp::SAVED_TARGET,
    countdown = const disp::COUNTDOWN,
    near_countdown = const NEAR_COUNTDOWN,
    prediction_countdown = const PREDICTION_COUNTDOWN,
    left_at = const LEFT_AT,
    near = const NEAR,
    ibl_jmp = const Entry::IblJmp.disp(),
    golden = const ppin_indirect::GOLDEN,
    shift = const ppin_indirect::SHIFT,
    table = sym ppin_indirect::TABLE,
);
