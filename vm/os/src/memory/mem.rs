//! Mapping, unmapping, protecting and moving memory.

use crate::call::call;
use crate::errno::{Errno, Result};
use crate::kernel::Kernel;
use crate::{c, limits, proc, spare};
use core::sync::atomic::{AtomicBool, Ordering};

pub use crate::page::{NONE, PAGE, R, RW, RWX, RX, page_down, page_up};

/// Anonymous private memory at exactly `addr`, or an error if something is there.
///
/// # Errors
/// The kernel's; `EEXIST` if the range is taken.
pub fn map_anon_at(addr: u64, len: u64, prot: u32) -> Result<u64> {
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE | c::MAP_FIXED_NOREPLACE;
    map(addr, len, prot, flags, -1, 0)
}

/// Anonymous shared memory at exactly `addr`, or an error if something is there. It is shared with
/// children and with further views of it (see [`remap`]).
///
/// # Errors
/// The kernel's; `EEXIST` if the range is taken.
pub fn map_shared_at(addr: u64, len: u64, prot: u32) -> Result<u64> {
    let flags = c::MAP_SHARED | c::MAP_ANONYMOUS | c::MAP_NORESERVE | c::MAP_FIXED_NOREPLACE;
    map(addr, len, prot, flags, -1, 0)
}

/// A private mapping of a file at exactly `addr`, or an error if something is there. It is not
/// accounted for (mmap(2), `MAP_NORESERVE`). Otherwise the kernel would mark pages that were
/// writable for a while as accounted, and could not merge them with neighbouring mappings again.
///
/// # Errors
/// The kernel's; `EEXIST` if the range is taken.
pub fn map_file_at(addr: u64, len: u64, prot: u32, fd: i32) -> Result<u64> {
    map(
        addr,
        len,
        prot,
        c::MAP_PRIVATE | c::MAP_NORESERVE | c::MAP_FIXED_NOREPLACE,
        fd,
        0,
    )
}

/// A private read-only mapping of `len` bytes of a file from `off` on, a multiple of [`PAGE`], at an
/// address that the kernel chooses.
///
/// # Errors
/// The kernel's.
pub fn map_file(len: u64, fd: i32, off: u64) -> Result<u64> {
    map(0, len, R, c::MAP_PRIVATE, fd, off)
}

/// A private mapping of `len` bytes of a file from `off` on, in the place of what is at `addr`.
///
/// # Safety
/// Nobody refers to what is there.
///
/// # Errors
/// The kernel's.
pub unsafe fn map_file_over(addr: u64, len: u64, prot: u32, fd: i32, off: u64) -> Result<u64> {
    let flags = c::MAP_PRIVATE | c::MAP_NORESERVE | c::MAP_FIXED;
    map(addr, len, prot, flags, fd, off)
}

/// Uses only old flags of mmap(2) from now on: filters of system calls may not know newer ones.
pub fn use_old_flags() {
    OLD_FLAGS.store(true, Ordering::Relaxed);
}

static OLD_FLAGS: AtomicBool = AtomicBool::new(false);

/// Notes that the app has asked for `READ_IMPLIES_EXEC` (personality(2)): the kernel then makes
/// readable memory executable. Closed groups of persisted code must not be.
pub fn reading_implies_executing() {
    IMPLIED.store(true, Ordering::Relaxed);
}

static IMPLIED: AtomicBool = AtomicBool::new(false);

/// Runs `make`, a call that maps or protects, without `READ_IMPLIES_EXEC`, so that memory gets
/// exactly the rights `prot`.
fn with_exact_rights<T>(prot: u32, make: impl FnOnce() -> Result<T>) -> Result<T> {
    if !IMPLIED.load(Ordering::Relaxed) || prot & c::PROT_EXEC != 0 {
        return make();
    }
    let persona = proc::persona().ok_or(Errno::EPERM)? as usize;
    let plain = persona & !(proc::READ_IMPLIES_EXEC as usize);
    // SAFETY: changes the rights that later calls of this thread give; restored below.
    unsafe { call(c::__NR_personality, [plain, 0, 0, 0, 0, 0]) }?;
    let made = make();
    // SAFETY: restores the persona of before.
    let _ = unsafe { call(c::__NR_personality, [persona, 0, 0, 0, 0, 0]) };
    made
}

/// A new mapping, which with `MAP_FIXED` takes the place of what is there.
///
/// # Errors
/// The kernel's.
pub(crate) fn map(addr: u64, len: u64, prot: u32, flags: u32, fd: i32, off: u64) -> Result<u64> {
    let exact = flags & c::MAP_FIXED_NOREPLACE;
    let passed = if OLD_FLAGS.load(Ordering::Relaxed) {
        flags & !exact
    } else {
        flags
    };
    let args = [
        addr as usize,
        len as usize,
        prot as usize,
        passed as usize,
        fd as isize as usize,
        off as usize,
    ];
    // SAFETY: without MAP_FIXED a new mapping disturbs no existing memory; `map_file_over`, which
    // asks for that, has its caller's promise.
    let got = with_exact_rights(prot, || unsafe { call_for_room(c::__NR_mmap, args, len) })? as u64;
    if addr != 0 && got != addr && exact != 0 {
        // Without the flag, and before Linux 4.17, the address is a hint.
        // SAFETY: just mapped by us.
        let _ = unsafe { unmap(got, len) };
        return Err(Errno::EEXIST);
    }
    Ok(got)
}

/// Makes a call that may need `len` bytes, or one mapping, more than the process is allowed. If the
/// call fails, the limits are raised or the spare mappings given up, and the call is repeated.
///
/// # Safety
/// As the call itself.
///
/// # Errors
/// The kernel's.
pub unsafe fn call_for_room(nr: u32, args: [usize; 6], len: u64) -> Result<usize> {
    // SAFETY: the caller's promise; a call that fails may be made again.
    let make = || unsafe { call(nr, args) };
    match make() {
        Err(Errno::ENOMEM) if limits::raise(len) => match make() {
            Err(Errno::ENOMEM) if spare::give_up() => make(),
            result => result,
        },
        Err(Errno::ENOMEM) if spare::give_up() => make(),
        result => result,
    }
}

/// Removes mappings.
///
/// # Safety
/// Nothing may use the range any more.
///
/// # Errors
/// The kernel's.
pub unsafe fn unmap(addr: u64, len: u64) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(c::__NR_munmap, [addr as usize, len as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Changes protection.
///
/// # Safety
/// No Rust reference may rely on an access that is taken away.
///
/// # Errors
/// The kernel's.
pub unsafe fn protect(addr: u64, len: u64, prot: u32) -> Result<()> {
    let args = [addr as usize, len as usize, prot as usize, 0, 0, 0];
    // SAFETY: the caller's promise.
    with_exact_rights(prot, || unsafe {
        call_for_room(c::__NR_mprotect, args, len)
    })
    .map(drop)
}

/// Asks for the pages of writable memory that will be written to at once: a fault for each takes
/// longer. Kernels before Linux 5.14, and filters of the app, leave them to faults.
pub fn ask_for(start: u64, end: u64) {
    let (start, end) = (page_down(start), page_up(end));
    let advice = c::MADV_POPULATE_WRITE as usize;
    let args = [start as usize, (end - start) as usize, advice, 0, 0, 0];
    if Kernel::of_this_thread()
        .permit(c::__NR_madvise, args)
        .is_ok()
    {
        // SAFETY: contents do not change.
        let _ = unsafe { call(c::__NR_madvise, args) };
    }
}

/// Moves a mapping of `old_len` bytes to `to`, replacing what is mapped there. With an `old_len` of
/// 0, shared memory is mapped at both places (mremap(2)).
///
/// # Safety
/// Nothing may use the mapping at `to`, nor the old one if it is moved.
///
/// # Errors
/// The kernel's.
pub unsafe fn remap(from: u64, old_len: u64, len: u64, to: u64) -> Result<()> {
    let flags = c::MREMAP_MAYMOVE | c::MREMAP_FIXED;
    // SAFETY: the caller's promise.
    unsafe {
        call_for_room(
            c::__NR_mremap,
            [
                from as usize,
                old_len as usize,
                len as usize,
                flags as usize,
                to as usize,
                0,
            ],
            len,
        )
    }
    .map(drop)
}
