//! The segments that a signal frame names (AMD manual volume 2, 4.4).

use crate::frame::{UContext, greg};
use crate::segment;

/// Selector of the kernel's 64-bit code segment for programs.
const CODE_64: u64 = 0x33;
/// Selector of the kernel's data segment for programs, and where the stack's is.
const STACK: u64 = 0x2b;
const STACK_SHIFT: u32 = 48;
/// Access rights that matter, of a descriptor: present, privilege, system, code, writable.
const RIGHTS: u32 = 0xfa00;
const WRITABLE_DATA: u32 = 0xf200;

impl UContext {
    /// Selector of its code segment.
    #[must_use]
    pub fn code_segment(&self) -> u16 {
        self.gregs[greg::SEGMENTS] as u16
    }

    /// Lets it go on in the code segment `selector`.
    pub fn set_code_segment(&mut self, selector: u16) {
        let segments = &mut self.gregs[greg::SEGMENTS];
        *segments = *segments & !0xffff | u64::from(selector);
    }

    /// Whether its pc is one of 64-bit code.
    #[must_use]
    pub fn is_64_bit(&self) -> bool {
        u64::from(self.code_segment()) | 3 == CODE_64
    }

    /// Lets it go on in 64-bit code: all of ours is. A stack segment that cannot be loaded
    /// is replaced, as the kernel does (`force_valid_ss`).
    pub fn enter_64_bit(&mut self) {
        self.set_code_segment(CODE_64 as u16);
        if !self.has_stack_segment() {
            let segments = &mut self.gregs[greg::SEGMENTS];
            *segments = *segments & !(0xffff << STACK_SHIFT) | STACK << STACK_SHIFT;
        }
    }

    /// Whether its stack segment can be loaded: writable data of the program, present.
    #[must_use]
    pub fn has_stack_segment(&self) -> bool {
        let selector = (self.gregs[greg::SEGMENTS] >> STACK_SHIFT) as u16;
        segment::access_rights(selector) & RIGHTS == WRITABLE_DATA
    }
}
