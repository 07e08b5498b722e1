//! A thread of the program, which we trace.
//!
//! # Safety
//!
//! ptrace(2) reads and writes memory of ours only where it says so: each request here is given what its manual asks
//! for. What it does to the program is what the user has asked for.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc::{
    self, PTRACE_GETSIGMASK, PTRACE_SETSIGMASK, c_uint, c_void, ptrace_rseq_configuration,
    ptrace_sud_config, user_fpregs_struct as Vectors, user_regs_struct as Regs,
};
use nix::sys::ptrace;
use nix::sys::ptrace::regset::NT_PRFPREG;
use nix::sys::signal::Signal;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use std::io::{IoSlice, IoSliceMut};
use std::mem::{MaybeUninit, size_of};

/// ptrace(2), not in all C libraries.
const PTRACE_GET_RSEQ_CONFIGURATION: c_uint = 0x420f;
const PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG: c_uint = 0x4211;

/// A traced thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task(pub Pid);

impl Task {
    /// Begins to trace it, and asks it to stop.
    pub fn seize(self) -> Result<(), Errno> {
        ptrace::seize(self.0, ptrace::Options::PTRACE_O_TRACESYSGOOD)?;
        ptrace::interrupt(self.0)
    }

    /// Its general registers.
    pub fn registers(self) -> Result<Regs, Errno> {
        ptrace::getregs(self.0)
    }

    /// Sets them.
    pub fn set_registers(self, regs: &Regs) -> Result<(), Errno> {
        ptrace::setregs(self.0, *regs)
    }

    /// Its vector registers as far as SSE knows them.
    pub fn vectors(self) -> Result<Vectors, Errno> {
        ptrace::getregset::<NT_PRFPREG>(self.0)
    }

    /// The signals that it blocks, outside calls that block others meanwhile.
    pub fn mask(self) -> Result<u64, Errno> {
        let mut mask = 0_u64;
        self.request(PTRACE_GETSIGMASK, size_of::<u64>(), &raw mut mask)?;
        Ok(mask)
    }

    /// Has it block these signals.
    pub fn set_mask(self, mask: u64) -> Result<(), Errno> {
        let mut mask = mask;
        self.request(PTRACE_SETSIGMASK, size_of::<u64>(), &raw mut mask)?;
        Ok(())
    }

    /// Its registration for restartable sequences: address, length, signature; address 0: none.
    pub fn sequences(self) -> Result<[u64; 3], Errno> {
        let mut found = MaybeUninit::<ptrace_rseq_configuration>::zeroed();
        let len = size_of::<ptrace_rseq_configuration>();
        self.request(PTRACE_GET_RSEQ_CONFIGURATION, len, found.as_mut_ptr())?;
        // SAFETY: integers, zeroed and then written by the kernel.
        let found = unsafe { found.assume_init() };
        Ok([
            found.rseq_abi_pointer,
            found.rseq_abi_size.into(),
            found.signature.into(),
        ])
    }

    /// Whether it has its system calls reported to itself (`PR_SET_SYSCALL_USER_DISPATCH`). Older kernels do not tell.
    pub fn dispatches_its_calls(self) -> bool {
        let mut found = MaybeUninit::<ptrace_sud_config>::zeroed();
        let len = size_of::<ptrace_sud_config>();
        let asked = self.request(
            PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG,
            len,
            found.as_mut_ptr(),
        );
        // SAFETY: integers, zeroed and then written by the kernel.
        asked.is_ok() && unsafe { found.assume_init() }.mode != 0
    }

    /// Lets it run, with `signal`, to its next system call, or to the end of the one it is in.
    pub fn to_call(self, signal: Option<Signal>) -> Result<(), Errno> {
        ptrace::syscall(self.0, signal)
    }

    /// Lets it run, with `signal`.
    pub fn go_on(self, signal: Option<Signal>) -> Result<(), Errno> {
        ptrace::cont(self.0, signal)
    }

    /// Traces it no longer.
    pub fn detach(self) -> Result<(), Errno> {
        ptrace::detach(self.0, None)
    }

    /// Reads program memory at `address`; whether all of it is there.
    pub fn read(self, address: u64, to: &mut [u8]) -> bool {
        let len = to.len();
        let there = RemoteIoVec {
            base: address as usize,
            len,
        };
        process_vm_readv(self.0, &mut [IoSliceMut::new(to)], &[there]) == Ok(len)
    }

    /// Writes to program memory at `address`; whether all of it was written.
    pub fn write(self, address: u64, bytes: &[u8]) -> bool {
        let there = RemoteIoVec {
            base: address as usize,
            len: bytes.len(),
        };
        process_vm_writev(self.0, &[IoSlice::new(bytes)], &[there]) == Ok(bytes.len())
    }

    /// A request with a number and memory of ours.
    fn request<T>(self, request: c_uint, number: usize, memory: *mut T) -> Result<i64, Errno> {
        let pid = self.0.as_raw();
        // SAFETY: see the module.
        Errno::result(unsafe { libc::ptrace(request, pid, number as *mut c_void, memory) })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Registers that are zero but for what `set` sets.
    pub fn regs(set: impl FnOnce(&mut Regs)) -> Regs {
        // SAFETY: integers only.
        let mut regs = unsafe { MaybeUninit::<Regs>::zeroed().assume_init() };
        set(&mut regs);
        regs
    }
}
