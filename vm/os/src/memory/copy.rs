//! The instructions that touch app memory which may not be there.
//!
//! A short copy moves words, from [`peek_words`] on: most are a few instructions of the app, and
//! `rep movsb` takes long to begin. If a word faults, the signal handler moves the pc to
//! [`peek_copy`], and the rest is copied by bytes, so that what comes before a page that is not
//! there is copied. If that faults, it moves the pc to [`peek_done`], where rcx holds the number of
//! bytes not copied. [`touch`] waits for a page that the app itself brings (userfaultfd(2)), until
//! a signal arrives.

use core::sync::atomic::AtomicU64;

unsafe extern "C" {
    /// The first of the instructions that may fault on a word.
    fn peek_words();
    /// The one that may fault on a byte.
    fn peek_copy();
    /// The instruction after it.
    fn peek_done();
    fn peek_bytes(to: u64, from: u64, len: u64) -> u64;
    fn peek_touch(at: u64, pending: *const u64);
    fn peek_touched();
    fn peek_store(at: u64) -> u64;
    fn peek_storing();
    fn peek_stored();
}

core::arch::global_asm!(
    ".text",
    ".globl peek_bytes, peek_words, peek_copy, peek_done, peek_touch, peek_touched, peek_store, peek_stored",
    ".hidden peek_bytes",
    ".hidden peek_words",
    ".hidden peek_copy",
    ".hidden peek_done",
    "peek_bytes:",
    "mov rcx, rdx",
    "cmp rdx, 8",
    "jb peek_copy",
    "cmp rdx, 512",
    "ja peek_copy",
    "peek_words:",
    "mov rax, [rsi]",
    "mov [rdi], rax",
    "add rsi, 8",
    "add rdi, 8",
    "sub rcx, 8",
    "cmp rcx, 8",
    "jae peek_words",
    // The rest with a part of the word before it.
    "mov rax, [rsi + rcx - 8]",
    "mov [rdi + rcx - 8], rax",
    "xor eax, eax",
    "ret",
    "peek_copy:",
    "rep movsb",
    "peek_done:",
    "mov rax, rcx",
    "ret",
    ".hidden peek_touch",
    ".hidden peek_touched",
    "peek_touch:",
    "cmp qword ptr [rsi], 0",
    "jne peek_touched",
    "mov al, [rdi]",
    "peek_touched:",
    "ret",
    ".hidden peek_store",
    ".globl peek_storing",
    ".hidden peek_storing",
    ".hidden peek_stored",
    "peek_store:",
    // (The result if the store faults.)
    "mov eax, 1",
    "peek_storing:",
    "lock or byte ptr [rdi], 0",
    "xor eax, eax",
    "peek_stored:",
    "ret",
);

/// Where execution goes on after a fault at `pc`, if `pc` is an instruction here that may fault.
#[must_use]
pub fn fixup(pc: u64) -> Option<u64> {
    match pc {
        _ if (address(peek_words)..address(peek_copy)).contains(&pc) => Some(address(peek_copy)),
        _ if pc == address(peek_copy) => Some(address(peek_done)),
        _ if pc == address(peek_storing) => Some(address(peek_stored)),
        _ => abort(pc),
    }
}

/// Where execution goes on after a signal at `pc`, if the signal would otherwise wait for a page.
#[must_use]
pub fn abort(pc: u64) -> Option<u64> {
    let start = peek_touch as unsafe extern "C" fn(u64, *const u64) as usize as u64;
    let end = address(peek_touched);
    (start..end).contains(&pc).then_some(end)
}

fn address(place: unsafe extern "C" fn()) -> u64 {
    place as *const () as u64
}

/// Reads the byte of app memory at `at`, so that its page is brought into memory. Gives up if the
/// read faults, or as soon as a signal is pending (`pending` is not 0).
pub fn touch(at: u64, pending: &AtomicU64) {
    // SAFETY: a fault on the app's side, or a signal, ends the attempt.
    unsafe { peek_touch(at, pending.as_ptr()) };
}

/// Copies app memory at `from` into `to`; returns how many bytes could be read.
pub(crate) fn read(from: u64, to: &mut [u8]) -> usize {
    // SAFETY: `to` is writable; a fault on the app's side ends the copy.
    let left = unsafe { peek_bytes(to.as_mut_ptr() as u64, from, to.len() as u64) };
    to.len() - left as usize
}

/// Copies `bytes` to app memory at `to`; whether all of it could be written.
#[must_use]
pub fn write(to: u64, bytes: &[u8]) -> bool {
    // SAFETY: what lies at `to` is the app's, and the app asked for it to be written.
    unsafe { peek_bytes(to, bytes.as_ptr() as u64, bytes.len() as u64) == 0 }
}

/// Writes the byte at `at` back to itself; returns whether it is writable.
pub(crate) fn store(at: u64) -> bool {
    // SAFETY: one atomic instruction that keeps the value; a fault ends it.
    unsafe { peek_store(at) == 0 }
}

/// Reads a word of app memory.
pub(crate) fn word(from: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (read(from, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn copies_of_any_length_are_whole_and_no_longer() {
        let from: Vec<u8> = (0..600_u32).map(|n| (n * 7 + n / 256) as u8).collect();
        for len in 0..=592 {
            for start in [0, 1, 7] {
                let mut to = [0x5a; 608];
                let at = from.as_ptr() as u64 + start as u64;
                assert_eq!(read(at, &mut to[3..3 + len]), len);
                assert_eq!(to[3..3 + len], from[start..start + len]);
                assert!(
                    to[..3]
                        .iter()
                        .chain(&to[3 + len..])
                        .all(|byte| *byte == 0x5a)
                );
            }
        }
    }

    #[test]
    fn a_fault_on_a_word_goes_on_by_bytes_and_one_on_a_byte_ends_the_copy() {
        let (words, bytes) = (address(peek_words), address(peek_copy));
        assert_eq!(fixup(words), Some(bytes));
        assert_eq!(fixup(bytes - 1), Some(bytes));
        assert_eq!(fixup(bytes), Some(address(peek_done)));
        assert_eq!(fixup(address(peek_done)), None);
    }
}
