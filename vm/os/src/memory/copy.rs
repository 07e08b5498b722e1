//! The instructions that touch app memory which may not be there.
//!
//! The copy is one `rep movsb`: if it faults, the signal handler sees the pc at
//! [`peek_copy`] and moves it to [`peek_done`], where rcx says how much was left. A page that
//! is on its way can be waited for ([`touch`]) until a signal comes.

use core::sync::atomic::AtomicU64;

unsafe extern "C" {
    /// The instruction that may fault.
    fn peek_copy();
    /// The one after it.
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
    ".globl peek_bytes, peek_copy, peek_done, peek_touch, peek_touched, peek_store, peek_stored",
    ".hidden peek_bytes",
    ".hidden peek_copy",
    ".hidden peek_done",
    "peek_bytes:",
    "mov rcx, rdx",
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
    // (Stays if it faults.)
    "mov eax, 1",
    "peek_storing:",
    "lock or byte ptr [rdi], 0",
    "xor eax, eax",
    "peek_stored:",
    "ret",
);

/// If `pc` is one of those that may fault, where to go on instead.
#[must_use]
pub fn fixup(pc: u64) -> Option<u64> {
    match pc {
        _ if pc == address(peek_copy) => Some(address(peek_done)),
        _ if pc == address(peek_storing) => Some(address(peek_stored)),
        _ => abort(pc),
    }
}

/// If a signal at `pc` would have to wait for a page, where to go on instead.
#[must_use]
pub fn abort(pc: u64) -> Option<u64> {
    let start = peek_touch as unsafe extern "C" fn(u64, *const u64) as usize as u64;
    let end = address(peek_touched);
    (start..end).contains(&pc).then_some(end)
}

fn address(place: unsafe extern "C" fn()) -> u64 {
    place as *const () as u64
}

/// Reads the byte of app memory at `at`, so that it is there; gives up if that fails or as soon
/// as a signal waits: `pending` is not 0 then.
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

/// Writes to the byte at `at` what is there; whether that was possible.
pub(crate) fn store(at: u64) -> bool {
    // SAFETY: the value stays, and is read and written in one go; a fault ends it.
    unsafe { peek_store(at) == 0 }
}

/// Reads a word of app memory.
pub(crate) fn word(from: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (read(from, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
}
