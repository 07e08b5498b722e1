//! The runtime's heap in a process of its own, since what is known of it is one per process.

#![allow(missing_docs, reason = "tests")]

use ppin_os::heap::Heap;
use ppin_os::{mem, page};
use std::alloc::{GlobalAlloc, Layout};

unsafe extern "C" {
    /// The end of the image's data (defined by the linker).
    safe static _end: u8;
}

/// Takes the memory behind the image's data, where the heap would lie. From then on the kernel puts
/// each piece of the heap below the one before.
fn take_the_heaps_place() {
    const LEN: u64 = 1 << 20;
    let place = page::page_up((&raw const _end) as u64);
    // (If it is taken, so much the better.)
    let _ = mem::map_anon_at(place, LEN, mem::NONE);
}

#[test]
fn pieces_that_lie_below_the_first_one_are_new_memory() {
    const BLOCK: usize = 1 << 20;
    take_the_heaps_place();
    let layout = Layout::from_size_align(BLOCK, 16).unwrap();
    let blocks: Vec<*mut u8> = (0..40)
        .map(|number| {
            // SAFETY: the size is not zero, and the block is as long.
            unsafe {
                let block = Heap.alloc(layout);
                block.write_bytes(number, BLOCK);
                block
            }
        })
        .collect();
    for (number, block) in blocks.iter().enumerate() {
        // SAFETY: a block of that length, which was written to.
        let bytes = unsafe { std::slice::from_raw_parts(*block, BLOCK) };
        assert!(bytes.iter().all(|byte| usize::from(*byte) == number));
    }
}
