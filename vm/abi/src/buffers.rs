//! Where a thread's buffers for records lie: below its stacks, which lie below its structure.
//!
//! A cell of the thread area holds the *position* of each buffer: where its next record goes.
//! Positions are no addresses, so that emitted code sees by one byte of the cell whether there is
//! room, without touching the flags:
//!
//! ```text
//! 0xf00000   START   the first record; byte 3 of the cell is 0
//! 0x1000000  END     byte 3 is 1: the buffer is handed over at the next look
//! 0x1010000          end of the memory: what a trace may append at once fits in between
//! ```
//! Position `p` of buffer `n` lies at `gs:[p + memory(n)]`.

use crate::thread::BEFORE;

/// Most buffers that the tools of a run may have.
pub const MAX_BUFFERS: usize = 4;

/// Displacement from `gs` of the first cell.
pub const POSITIONS: u32 = 0x160;

/// Position at which a buffer is full.
pub const END: u32 = 1 << 24;

/// Bytes that a buffer holds when it is full. Handing it over costs some ten system calls (the file is
/// opened for each piece), so it is large; larger ones gain little, as they leave the caches.
pub const BYTES: u32 = 1024 << 10;

/// Position of the first record.
pub const START: u32 = END - BYTES;

/// Bytes behind [`END`].
pub const BEYOND: u32 = 64 << 10;

/// Most bytes that are appended between two looks at the position.
pub const MOST_AT_ONCE: u32 = 4 << 10;

/// Most bytes of a record.
pub const MOST_RECORD: u32 = 256;

/// Bytes of memory of a buffer.
const STRIDE: u32 = BYTES + BEYOND;

/// Distance from the end of the last buffer up to the thread's structure: room for the stacks.
pub const BELOW: u32 = 0x80000;

/// Displacement from `gs` of the cell with the position of `buffer`.
#[must_use]
pub const fn cell(buffer: u16) -> u32 {
    POSITIONS + 8 * buffer as u32
}

/// Displacement from `gs` of the byte that is 0 while there is room in `buffer`.
#[must_use]
pub const fn full(buffer: u16) -> u32 {
    cell(buffer) + 3
}

/// The buffer whose position is in the cell at this displacement from `gs`.
#[must_use]
pub const fn of_cell(disp: u64) -> Option<u16> {
    let first = POSITIONS as u64;
    let behind = first + 8 * MAX_BUFFERS as u64;
    if first <= disp && disp < behind {
        Some(((disp - first) / 8) as u16)
    } else {
        None
    }
}

/// What makes a displacement from `gs` of a position in `buffer`.
#[must_use]
pub const fn memory(buffer: u16) -> i32 {
    let bytes = (buffer as u32 + 1) * STRIDE;
    -((BEFORE + BELOW + bytes + START) as i32)
}

/// Bytes of memory of `count` buffers.
#[must_use]
pub const fn bytes(count: usize) -> u64 {
    count as u64 * STRIDE as u64
}

/// Whether code that was left in the middle of a trace may append the rest of it.
#[must_use]
pub const fn has_room(position: u64) -> bool {
    position <= (END + BEYOND - 2 * MOST_AT_ONCE) as u64
}

const _: () = {
    assert!(START.is_multiple_of(BYTES) && BEYOND >= 8 * MOST_AT_ONCE);
    assert!(MOST_RECORD <= MOST_AT_ONCE);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_the_position_says_whether_there_is_room() {
        for position in [START, START + 24, END - 1, END, END + BEYOND] {
            let byte = position.to_le_bytes()[(full(0) - cell(0)) as usize];
            assert_eq!(byte == 0, position < END);
        }
        assert!(has_room(u64::from(END + MOST_AT_ONCE)) && !has_room(u64::from(END + BEYOND)));
    }

    #[test]
    fn buffers_lie_side_by_side_below_the_stacks() {
        let at = |buffer, position: u32| memory(buffer) + (BEFORE + position) as i32;
        assert_eq!(at(0, END + BEYOND), -(BELOW as i32));
        for buffer in 0..MAX_BUFFERS as u16 - 1 {
            assert_eq!(at(buffer + 1, END + BEYOND), at(buffer, START));
        }
        let last = MAX_BUFFERS as u16 - 1;
        assert_eq!(
            i64::from(at(last, START)),
            -i64::from(BELOW) - bytes(MAX_BUFFERS) as i64
        );
    }

    #[test]
    fn cells_are_told_from_counters() {
        for buffer in 0..MAX_BUFFERS as u16 {
            assert_eq!(of_cell(cell(buffer).into()), Some(buffer));
        }
        let behind = u64::from(cell(MAX_BUFFERS as u16));
        assert_eq!([of_cell(behind), of_cell(0x158)], [None, None]);
    }
}
