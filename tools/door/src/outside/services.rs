//! Memory for loaded tools: that of the process's allocator.
#![allow(unsafe_code)]

use crate::table::{Services, Text};
use alloc::alloc::{alloc, dealloc, realloc};
use core::alloc::Layout;
use core::ptr::null_mut;

impl Services {
    /// The services of a process; `fail` ends it when a tool cannot go on.
    #[must_use]
    pub const fn new(fail: extern "C" fn(why: Text<'_>) -> !) -> Self {
        Self {
            allocate,
            free,
            resize,
            fail,
        }
    }
}

extern "C" fn allocate(size: usize, align: usize) -> *mut u8 {
    match Layout::from_size_align(size, align) {
        // SAFETY: not of size zero.
        Ok(layout) if size > 0 => unsafe { alloc(layout) },
        _ => null_mut(),
    }
}

extern "C" fn free(block: *mut u8, size: usize, align: usize) {
    if let Ok(layout) = Layout::from_size_align(size, align) {
        // SAFETY: the tool's allocator got the block with this layout.
        unsafe { dealloc(block, layout) }
    }
}

extern "C" fn resize(block: *mut u8, size: usize, align: usize, new: usize) -> *mut u8 {
    match Layout::from_size_align(size, align) {
        // SAFETY: the tool's allocator got the block with this layout; the new size is not zero.
        Ok(layout) if new > 0 => unsafe { realloc(block, layout, new) },
        _ => null_mut(),
    }
}
