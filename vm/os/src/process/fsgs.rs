//! Instructions that read and write the segment registers fs and gs.

use core::sync::atomic::{AtomicBool, Ordering};

/// Whether [`use_segment_bases`] was called.
static SEGMENT_BASES: AtomicBool = AtomicBool::new(false);

/// Uses the instructions for segment bases (`rdgsbase`, ...) from now on. They are quicker, and a
/// filter of system calls may forbid arch_prctl(2).
pub fn use_segment_bases() {
    SEGMENT_BASES.store(true, Ordering::Relaxed);
}

/// Whether the instructions for segment bases may be used.
pub(crate) fn are_usable() -> bool {
    SEGMENT_BASES.load(Ordering::Relaxed)
}

/// The base of gs, if the CPU has an instruction to read it.
#[must_use]
pub fn quick_gs_base() -> Option<u64> {
    are_usable().then(|| {
        let base: u64;
        // SAFETY: only reads a register.
        unsafe {
            core::arch::asm!("rdgsbase {}", out(reg) base, options(nomem, nostack, preserves_flags))
        };
        base
    })
}

/// The base of the app's fs, if the CPU has an instruction to read it.
#[must_use]
pub(crate) fn quick_fs_base() -> Option<u64> {
    are_usable().then(|| {
        let base;
        // SAFETY: only reads a register.
        unsafe {
            core::arch::asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags))
        };
        base
    })
}

/// Sets the base of gs and leaves its selector alone; for CPUs that have the
/// instruction.
pub fn write_gs_base(base: u64) {
    // SAFETY: gs belongs to the runtime.
    unsafe { core::arch::asm!("wrgsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// The selector in gs.
#[must_use]
pub fn gs_selector() -> u16 {
    let selector: u32;
    // SAFETY: only reads a register.
    unsafe {
        core::arch::asm!("mov {:e}, gs", out(reg) selector, options(nomem, nostack, preserves_flags))
    };
    selector as u16
}

/// Loads gs with `selector`, which must be [`loadable`]. Its base changes.
pub fn set_gs_selector(selector: u16) {
    // SAFETY: gs belongs to the runtime.
    unsafe {
        core::arch::asm!("mov gs, {:e}", in(reg) u32::from(selector), options(nostack, preserves_flags))
    };
}

/// Whether a segment register can be loaded with `selector`.
#[must_use]
pub fn loadable(selector: u16) -> bool {
    let readable: u8;
    // SAFETY: only looks.
    unsafe {
        core::arch::asm!("verr {:x}", "setz {}", in(reg) selector, out(reg_byte) readable, options(nomem, nostack));
    }
    readable != 0
}

/// Access rights of the segment `selector`, as `lar` tells them; 0 if there is none.
#[must_use]
pub fn access_rights(selector: u16) -> u32 {
    let mut rights = 0u32;
    // SAFETY: only looks; where there is no such segment, the register stays as it is.
    unsafe {
        core::arch::asm!("lar {0:e}, {1:e}", inout(reg) rights, in(reg) u32::from(selector), options(nomem, nostack));
    }
    rights
}
