//! The tool's allocator, and its end when it fails.
//!
//! # Safety
//! The services are set before the tool's first allocation, by the first function that ppin
//! calls. Every ppin that loads the object passes services with the same behaviour.
#![allow(unsafe_code)]

use crate::table::{Services, Text};
use core::alloc::{GlobalAlloc, Layout};
use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

static SERVICES: AtomicPtr<Services> = AtomicPtr::new(null_mut());

/// From here on the tool may allocate.
pub fn use_services(services: &'static Services) {
    let services = core::ptr::from_ref(services).cast_mut();
    SERVICES.store(services, Ordering::Relaxed);
}

fn services() -> Option<&'static Services> {
    // SAFETY: null, or valid for good.
    unsafe { SERVICES.load(Ordering::Relaxed).as_ref() }
}

/// The allocator of an object: that of ppin.
#[derive(Debug)]
pub struct Heap;

// SAFETY: the other side keeps the rules of an allocator.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match services() {
            Some(services) => (services.allocate)(layout.size(), layout.align()),
            None => null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(services) = services() {
            (services.free)(block, layout.size(), layout.align());
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match services() {
            Some(services) => (services.resize)(block, layout.size(), layout.align(), size),
            None => null_mut(),
        }
    }
}

/// A line of bounded length: nothing is allocated for it.
struct Line {
    text: [u8; 400],
    used: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.text[self.used..];
        let len = room.len().min(text.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.used += len;
        Ok(())
    }
}

impl Line {
    /// Its text, up to a character that was cut off.
    fn text(&self) -> &str {
        let whole = &self.text[..self.used];
        let text = core::str::from_utf8(whole);
        let cut = text.map_err(|error| core::str::from_utf8(&whole[..error.valid_up_to()]));
        cut.unwrap_or_else(Result::unwrap_or_default)
    }
}

/// What an object does when it panics.
pub fn panic(info: &PanicInfo<'_>) -> ! {
    let mut line = Line {
        text: [0; 400],
        used: 0,
    };
    let _ = write!(line, "{}", info.message());
    if let Some(place) = info.location() {
        let _ = write!(line, " ({}:{})", place.file(), place.line());
    }
    if let Some(services) = services() {
        (services.fail)(Text::of(line.text()));
    }
    // SAFETY: an instruction that faults: there is nobody to tell.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}
