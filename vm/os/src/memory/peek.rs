//! Access to app memory that may not be mapped: see [`crate::copy`].

use crate::call::call;
use crate::errno::Errno;
use crate::plain::Plain;
use crate::{c, copy, mem, proc};
use alloc::vec::Vec;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

pub use crate::copy::{abort, fixup, touch, write};

/// Whether the kernel does the reads: see [`never_fault`].
static BY_KERNEL: AtomicBool = AtomicBool::new(false);

/// Has the kernel do all reads from now on, so that they do not fault. A tracer that shares this
/// memory would see each fault as a stop of its tracee, and wait for a lock that the stopped thread
/// holds.
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
    copy::read(from, to)
}

/// Asks the processor for the `len` bytes at `from`, which will be read soon. Where there is no memory, nothing
/// happens.
pub fn expect(from: u64, len: u64) {
    const LINE: usize = 64;
    for line in (from..from + len).step_by(LINE) {
        // SAFETY: a prefetch of any address does not fault (Intel SDM volume 2, `PREFETCHh`).
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line as *const i8) };
    }
}

/// Copies app memory at `from` into `to` with process_vm_readv(2), page by page, since the call
/// copies a piece as a whole or not at all; returns how many bytes could be read. `None`: the call is not available.
fn read_by_kernel(from: u64, to: &mut [u8]) -> Option<usize> {
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
            Err(Errno::EFAULT) => break,
            Err(_) => return None,
        }
    }
    Some(done)
}

/// Copies app memory from several places, one behind the other, into `to` with one process_vm_readv(2); each is
/// an address and a length that stays within its page. It works before there is a handler for faults.
/// `None`: not all of it can be read.
pub fn gather_by_kernel<const N: usize>(from: [(u64, usize); N], to: &mut [u8]) -> Option<()> {
    let len: usize = from.iter().map(|(_, len)| len).sum();
    let local = [to.get_mut(..len)?.as_mut_ptr() as usize, len];
    let remote = from.map(|(at, len)| [at as usize, len]);
    let (local, remote) = (local.as_ptr() as usize, remote.as_ptr() as usize);
    let args = [proc::pid() as usize, local, 1, remote, N, 0];
    // SAFETY: at most `len` bytes of `to` are written to.
    let read = unsafe { call(c::__NR_process_vm_readv, args) };
    (read == Ok(len)).then_some(())
}

/// Reads a string of at most `most` bytes, its terminating zero included; `None` if it is longer or
/// cannot be read. Touches no page after that of the zero: a debugger of the app would take a fault
/// of the VM for one of the app.
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

/// Whether the byte at `at` is writable, protection keys aside (pkeys(7)). The byte keeps its
/// value.
#[must_use]
pub fn is_writable(at: u64) -> bool {
    let keys = has_keys().then(|| {
        let theirs = read_keys();
        write_keys(0);
        theirs
    });
    let written = copy::store(at);
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
    // SAFETY: the register exists; the VM's memory has no key.
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
    // SAFETY: T is plain data of this size.
    let bytes =
        unsafe { core::slice::from_raw_parts(core::ptr::from_ref(value).cast(), size_of::<T>()) };
    write(to, bytes)
}
