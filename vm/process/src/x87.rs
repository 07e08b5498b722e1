//! The address of the last x87 instruction, where the app can see it: in FPU images that the app
//! stores, and in signal frames.

use crate::translate;
use crate::vm::{self, Vm};
use ppin_os::peek;

/// Offset of the pointer in `fxsave64` images, and so in signal frames.
const FXSAVE_POINTER: u64 = 8;

/// Replaces the pointer of `width` bytes at `at`, a cache address, by the app's address.
pub fn correct(at: u64, width: u64) {
    const HALF: u64 = 4;
    let stored = if width == HALF {
        peek::read_value::<u32>(at).map(u64::from)
    } else {
        peek::read_value::<u64>(at)
    };
    let Some(stored) = stored.filter(|pointer| *pointer != 0) else {
        return;
    };
    let Some(pointer) = app_pointer(&vm::lock(), stored, width) else {
        return;
    };
    // The app has just written there. If the write fails now, another thread has changed the
    // mapping.
    let _ = if width == HALF {
        peek::write_value(at, &(pointer as u32))
    } else {
        peek::write_value(at, &pointer)
    };
}

/// Replaces the pointer in the vector state at `fpstate`, in a frame of the VM.
pub fn correct_frame(fpstate: u64) {
    if fpstate != 0 {
        correct(fpstate + FXSAVE_POINTER, 8);
    }
}

/// The app's address for `stored`, if `stored` is the cache address of an x87 instruction.
fn app_pointer(vm: &Vm, stored: u64, width: u64) -> Option<u64> {
    let full = if width == 8 {
        vm.code().in_cache(stored).then_some(stored)
    } else {
        vm.with_low_half(stored as u32)
    };
    let at = full.filter(|at| is_x87(*at))?;
    Some(translate::spot(vm, at)?.pc.0)
}

/// Whether an x87 instruction is at `at`. A number that only looks like a cache address rarely
/// passes this check.
fn is_x87(at: u64) -> bool {
    let prefix = |byte: &&u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67);
    let bytes = peek::read_value::<[u8; 8]>(at).unwrap_or_default();
    let opcode = bytes.iter().find(|byte| !prefix(byte));
    opcode.is_some_and(|byte| matches!(byte, 0x9b | 0xd8..=0xdf))
}

impl Vm {
    /// The cache address whose low half is `low`.
    fn with_low_half(&self, low: u32) -> Option<u64> {
        const HIGH: u64 = !0xffff_ffff;
        let starts = self.code().ranges().map(|range| range.0);
        starts
            .flat_map(|start| [start & HIGH, (start & HIGH) + (1 << 32)])
            .map(|high| high | u64::from(low))
            .find(|address| self.code().in_cache(*address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x87_instructions_are_known_behind_prefixes() {
        peek::never_fault();
        let is = |bytes: [u8; 8]| is_x87(bytes.as_ptr() as u64);
        assert!(is([0xd9, 0x05, 0, 0, 0, 0, 0, 0]) && is([0x9b, 0, 0, 0, 0, 0, 0, 0]));
        assert!(is([0x65, 0x67, 0x41, 0xdd, 0, 0, 0, 0]), "gs, addr32, rex");
        assert!(!is([0x0f, 0xd9, 0, 0, 0, 0, 0, 0]) && !is([0x65; 8]));
        assert!(!is_x87(0x10), "nothing is there");
    }
}
