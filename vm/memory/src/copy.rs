//! Copying. Most pieces are short, and vector registers are not touched: a tool's routine that copies need not
//! have them kept.

use core::arch::asm;
use core::ptr;

/// From this length on, a string instruction is as fast as a loop.
const LONG: usize = 256;

/// C's `memcpy`. It may also move bytes down, to a place that overlaps with theirs.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller's contract; the lengths are those that each routine asks for.
    unsafe {
        match len {
            0 => {}
            1 => to.write(from.read()),
            2..4 => ends::<u16>(to, from, len),
            4..8 => ends::<u32>(to, from, len),
            8..=16 => ends::<u64>(to, from, len),
            17..LONG => pairs(to, from, len),
            LONG.. => string(to, from, len),
        }
    }
    to
}

/// Copies the first and the last word, which are all.
///
/// # Safety
/// As [`memcpy`]'s; `len` is at least the size of a word, at most twice that.
unsafe fn ends<Word>(to: *mut u8, from: *const u8, len: usize) {
    let last = len - size_of::<Word>();
    // SAFETY: both words lie within `len`; both are read before one is written.
    unsafe {
        let head: Word = ptr::read_unaligned(from.cast());
        let tail: Word = ptr::read_unaligned(from.add(last).cast());
        ptr::write_unaligned(to.cast(), head);
        ptr::write_unaligned(to.add(last).cast(), tail);
    }
}

/// Copies two words at a time, upwards; the last two are read first, and written last.
///
/// # Safety
/// As [`memcpy`]'s; `len` is more than 16.
unsafe fn pairs(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: all that is read and written lies within `len`. Moved down, a pair is written only over
    // what has been read.
    unsafe {
        asm!(
            "mov {tail}, [{from} + {len} - 16]",
            "mov {last}, [{from} + {len} - 8]",
            "lea {end}, [{to} + {len} - 16]",
            "2: mov {len}, [{from}]",
            "mov {word}, [{from} + 8]",
            "mov [{to}], {len}",
            "mov [{to} + 8], {word}",
            "add {from}, 16",
            "add {to}, 16",
            "cmp {to}, {end}",
            "jb 2b",
            "mov [{end}], {tail}",
            "mov [{end} + 8], {last}",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            len = inout(reg) len => _,
            word = out(reg) _,
            tail = out(reg) _,
            last = out(reg) _,
            end = out(reg) _,
            options(nostack),
        );
    }
}

/// # Safety
/// As [`memcpy`]'s.
unsafe fn string(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
    }
}

/// C's `memmove`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= len {
        // SAFETY: it lies apart, or is moved down.
        return unsafe { memcpy(to, from, len) };
    }
    // SAFETY: the caller's contract; from the end down, words first.
    unsafe {
        asm!(
            "2: cmp {len}, 8",
            "jb 3f",
            "mov {word}, [{from} + {len} - 8]",
            "mov [{to} + {len} - 8], {word}",
            "sub {len}, 8",
            "jmp 2b",
            "3: test {len}, {len}",
            "jz 4f",
            "mov {word:l}, [{from} + {len} - 1]",
            "mov [{to} + {len} - 1], {word:l}",
            "dec {len}",
            "jmp 3b",
            "4:",
            len = inout(reg) len => _,
            word = out(reg) _,
            from = in(reg) from,
            to = in(reg) to,
            options(nostack),
        );
    }
    to
}

#[cfg(test)]
mod tests {
    use super::{LONG, memcpy, memmove};

    const ROOM: usize = 4 * LONG;

    fn bytes() -> [u8; ROOM] {
        core::array::from_fn(|n| (n * 7 + n / 256) as u8)
    }

    #[test]
    fn copies_of_all_lengths_are_exact() {
        let from = bytes();
        for len in 0..2 * LONG {
            for (start, at) in [(0, 0), (3, 1), (8, 13)] {
                let mut to = [0xaa; ROOM];
                // SAFETY: inside both arrays.
                unsafe { memcpy(to[at..].as_mut_ptr(), from[start..].as_ptr(), len) };
                assert_eq!(to[at..at + len], from[start..start + len], "{len} bytes");
                assert!(to[..at].iter().all(|byte| *byte == 0xaa), "before {len}");
                assert!(
                    to[at + len..].iter().all(|byte| *byte == 0xaa),
                    "behind {len}"
                );
            }
        }
    }

    #[test]
    fn bytes_move_to_where_they_overlap() {
        for len in 0..LONG + 40 {
            for distance in [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 100] {
                for (from, to) in [(distance, 0), (0, distance)] {
                    let mut moved = bytes();
                    let start = moved.as_mut_ptr();
                    // SAFETY: inside the array.
                    unsafe { memmove(start.add(to), start.add(from), len) };
                    let mut expected = bytes();
                    expected.copy_within(from..from + len, to);
                    assert_eq!(moved, expected, "{len} bytes from {from} to {to}");
                }
            }
        }
    }
}
