//! Touching app memory that may not be there.
//!
//! The copy is one `rep movsb`: if it faults, the signal handler sees the pc at
//! [`peek_copy`] and moves it to [`peek_done`], where rcx says how much was left. A page that
//! is on its way can be waited for ([`touch`]) until a signal comes.

use super::{c, call, mem, proc};
use crate::glue::disp;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Whether reads are the kernel's: see [`never_fault`].
static BY_KERNEL: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// The instruction that may fault.
    fn peek_copy();
    /// The one after it.
    fn peek_done();
    fn peek_bytes(to: u64, from: u64, len: u64) -> u64;
    fn peek_touch(at: u64);
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
    "cmp qword ptr gs:[{pending}], 0",
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
    pending = const disp::PENDING,
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
    let start = peek_touch as unsafe extern "C" fn(u64) as usize as u64;
    let end = address(peek_touched);
    (start..end).contains(&pc).then_some(end)
}

fn address(place: unsafe extern "C" fn()) -> u64 {
    place as *const () as u64
}

/// Reads the byte of app memory at `at`, so that it is there; gives up if that fails or as soon
/// as a signal waits. On a thread of the app, whose gs is ours.
pub fn touch(at: u64) {
    // SAFETY: a fault on the app's side, or a signal, ends the attempt.
    unsafe { peek_touch(at) };
}

/// From now on reads do not fault: a tracer that shares this memory would meet each fault as a
/// stop, and wait for what the stopped one holds.
pub fn never_fault() {
    BY_KERNEL.store(true, Ordering::Relaxed);
}

/// Copies app memory at `from` into `to`; returns how many bytes could be read.
pub fn read(from: u64, to: &mut [u8]) -> usize {
    if BY_KERNEL.load(Ordering::Relaxed)
        && let Some(read) = read_by_kernel(from, to)
    {
        return read;
    }
    // SAFETY: `to` is writable; a fault on the app's side ends the copy.
    let left = unsafe { peek_bytes(to.as_mut_ptr() as u64, from, to.len() as u64) };
    to.len() - left as usize
}

/// The same by process_vm_readv(2), which copies nothing or a whole piece: page by page. `None`:
/// the call is not to be had.
fn read_by_kernel(from: u64, to: &mut [u8]) -> Option<usize> {
    const EFAULT: i32 = 14;
    let mut done = 0;
    while done < to.len() {
        let at = from.wrapping_add(done as u64);
        let len = (to.len() - done).min((mem::PAGE - at % mem::PAGE) as usize);
        let local = [to[done..].as_mut_ptr() as usize, len];
        let remote = [at as usize, len];
        let (local, remote) = (local.as_ptr() as usize, remote.as_ptr() as usize);
        let args = [proc::tid() as usize, local, 1, remote, 1, 0];
        // SAFETY: at most `len` bytes of `to` are written to.
        match unsafe { call(c::__NR_process_vm_readv, args) } {
            Ok(_) => done += len,
            Err(error) if error.0 == EFAULT => break,
            Err(_) => return None,
        }
    }
    Some(done)
}

/// Reads a string of at most `most` bytes, its terminating zero included; `None` if it
/// is longer or cannot be read. No page is touched behind that of the zero: to a
/// debugger of the app a fault of ours would be one of the app.
#[must_use]
pub fn c_string(from: u64, most: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < most {
        let at = from + text.len() as u64;
        let rest = (mem::PAGE - at % mem::PAGE) as usize;
        let (start, end) = (text.len(), most.min(text.len() + rest));
        text.resize(end, 0);
        if read(at, &mut text[start..]) < end - start {
            return None;
        }
        if let Some(zero) = text[start..].iter().position(|byte| *byte == 0) {
            text.truncate(start + zero + 1);
            return Some(text);
        }
    }
    None
}

/// Copies `bytes` to app memory at `to`; whether all of it could be written.
#[must_use]
pub fn write(to: u64, bytes: &[u8]) -> bool {
    // SAFETY: what lies at `to` is the app's, and the app asked for it to be written.
    unsafe { peek_bytes(to, bytes.as_ptr() as u64, bytes.len() as u64) == 0 }
}

/// Whether the byte at `at`, which is not changed, can be written to by somebody whom no
/// protection key keeps from it (pkeys(7)).
#[must_use]
pub fn is_writable(at: u64) -> bool {
    let keys = has_keys().then(|| {
        let theirs = read_keys();
        write_keys(0);
        theirs
    });
    // SAFETY: what is there is written to it, in one go; a fault on the app's side ends it.
    let written = unsafe { peek_store(at) == 0 };
    keys.into_iter().for_each(write_keys);
    written
}

/// Whether protection keys are in use (`OSPKE`).
fn has_keys() -> bool {
    const OSPKE: u32 = 1 << 4;
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    const YES: u8 = 1;
    const NO: u8 = 2;
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let has = core::arch::x86_64::__cpuid_count(7, 0).ecx & OSPKE != 0;
            KNOWN.store(if has { YES } else { NO }, Ordering::Relaxed);
            has
        }
        known => known == YES,
    }
}

fn read_keys() -> u32 {
    let keys;
    // SAFETY: the register exists.
    unsafe {
        core::arch::asm!("rdpkru", in("ecx") 0, out("eax") keys, out("edx") _, options(nostack))
    };
    keys
}

fn write_keys(keys: u32) {
    // SAFETY: the register exists; ours is memory without a key.
    unsafe {
        core::arch::asm!("wrpkru", in("ecx") 0, in("eax") keys, in("edx") 0, options(nostack))
    };
}

/// Reads a plain value from app memory.
#[must_use]
pub fn read_value<T: Plain>(from: u64) -> Option<T> {
    let mut value = core::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: T is plain data of this size, zeroed.
    let bytes =
        unsafe { core::slice::from_raw_parts_mut(value.as_mut_ptr().cast(), size_of::<T>()) };
    // SAFETY: any bytes make a T.
    (read(from, bytes) == bytes.len()).then(|| unsafe { value.assume_init() })
}

/// Writes a plain value to app memory.
#[must_use]
pub fn write_value<T: Plain>(to: u64, value: &T) -> bool {
    // SAFETY: as in `write`.
    unsafe { peek_bytes(to, core::ptr::from_ref(value) as u64, size_of::<T>() as u64) == 0 }
}

/// Types for which any bytes are a value.
///
/// # Safety
/// No padding that matters, no invalid bit patterns.
pub unsafe trait Plain: Copy {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: an integer.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: arrays of integers.
unsafe impl<const N: usize> Plain for [u64; N] {}
// SAFETY: arrays of integers.
unsafe impl<const N: usize> Plain for [u8; N] {}
// SAFETY: four integers.
unsafe impl Plain for super::proc::KernelSigaction {}
