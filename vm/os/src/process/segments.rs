//! The segment selectors in a signal frame (AMD manual volume 2, 4.4).

use crate::frame::{UContext, greg};
use crate::segment;

/// Selector of the kernel's 64-bit code segment for programs.
const CODE_64: u64 = 0x33;
/// Selector of the kernel's data segment for programs, and the shift of ss in the frame's word.
const STACK: u64 = 0x2b;
const STACK_SHIFT: u32 = 48;
/// The access rights of a descriptor that are compared: present, privilege, system, code, writable.
const RIGHTS: u32 = 0xfa00;
const WRITABLE_DATA: u32 = 0xf200;

impl UContext {
    /// Selector of the frame's code segment.
    #[must_use]
    pub fn code_segment(&self) -> u16 {
        self.gregs[greg::SEGMENTS] as u16
    }

    /// Sets the code segment that the frame returns to.
    pub fn set_code_segment(&mut self, selector: u16) {
        let segments = &mut self.gregs[greg::SEGMENTS];
        *segments = *segments & !0xffff | u64::from(selector);
    }

    /// Whether the frame's pc is in 64-bit code.
    #[must_use]
    pub fn is_64_bit(&self) -> bool {
        u64::from(self.code_segment()) | 3 == CODE_64
    }

    /// Makes the frame return to 64-bit code, as all code of the VM is. A stack segment that cannot
    /// be loaded is replaced, as the kernel does (`force_valid_ss`).
    pub fn enter_64_bit(&mut self) {
        self.set_code_segment(CODE_64 as u16);
        if !self.has_stack_segment() {
            let segments = &mut self.gregs[greg::SEGMENTS];
            *segments = *segments & !(0xffff << STACK_SHIFT) | STACK << STACK_SHIFT;
        }
    }

    /// Whether the frame's stack segment can be loaded: writable data of the program, present.
    #[must_use]
    pub fn has_stack_segment(&self) -> bool {
        let selector = (self.gregs[greg::SEGMENTS] >> STACK_SHIFT) as u16;
        segment::access_rights(selector) & RIGHTS == WRITABLE_DATA
    }
}
