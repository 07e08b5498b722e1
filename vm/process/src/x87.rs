//! The address of the last x87 instruction, where the app can see it: in images that it
//! stores, and in signal frames.

use crate::translate;
use crate::vm::{self, Vm};
use ppin_os::peek;

/// In `fxsave64` images, and so in signal frames.
const FXSAVE_POINTER: u64 = 8;

/// Puts the pointer of `width` bytes at `at` right.
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
    // The app has just written there; if it cannot any more, that is its own doing.
    let _ = if width == HALF {
        peek::write_value(at, &(pointer as u32))
    } else {
        peek::write_value(at, &pointer)
    };
}

/// The same for the vector state at `fpstate`, in a frame of ours.
pub fn correct_frame(fpstate: u64) {
    if fpstate != 0 {
        correct(fpstate + FXSAVE_POINTER, 8);
    }
}

/// The app's address for `stored`, if that is one of an x87 instruction in the cache.
fn app_pointer(vm: &Vm, stored: u64, width: u64) -> Option<u64> {
    let full = if width == 8 {
        vm.code.in_cache(stored).then_some(stored)
    } else {
        vm.with_low_half(stored as u32)
    };
    let at = full.filter(|at| is_x87(*at))?;
    Some(translate::spot(vm, at)?.pc.0)
}

/// Whether an x87 instruction is at `at`: a number that only looks like an address of
/// ours is not likely to be one of those, too.
fn is_x87(at: u64) -> bool {
    let prefix = |byte: &&u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67);
    let bytes = peek::read_value::<[u8; 8]>(at).unwrap_or_default();
    let opcode = bytes.iter().find(|byte| !prefix(byte));
    opcode.is_some_and(|byte| matches!(byte, 0x9b | 0xd8..=0xdf))
}

impl Vm {
    /// The cache address of which `low` is the low half.
    fn with_low_half(&self, low: u32) -> Option<u64> {
        const HIGH: u64 = !0xffff_ffff;
        let chunks = self.code.fresh.chunks.iter().map(|chunk| chunk.base);
        let units = self.code.units.all();
        chunks
            .chain(units.map(|unit| unit.range().0))
            .flat_map(|start| [start & HIGH, (start & HIGH) + (1 << 32)])
            .map(|high| high | u64::from(low))
            .find(|address| self.code.in_cache(*address))
    }
}
