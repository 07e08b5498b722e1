//! The few ptrace requests that H needs, and what a wait status says.
//!
//! # Safety
//!
//! H traces one task, P; requests act on it alone, and memory of ours is only
//! passed where the request's manual says how much is read or written.
#![allow(unsafe_code)]

use crate::cpu::Cpu;
use crate::regs::Regs;
use crate::sys::{Errno, Kernel, check};
use linux_raw_sys::general::{
    __NR_process_vm_readv, __NR_process_vm_writev, __NR_ptrace, __NR_wait4, __WALL, WNOHANG, iovec,
};
use linux_raw_sys::ptrace::{
    PTRACE_CONT, PTRACE_DETACH, PTRACE_EVENT_EXEC, PTRACE_EVENT_STOP, PTRACE_GETREGS,
    PTRACE_INTERRUPT, PTRACE_O_EXITKILL, PTRACE_O_TRACEEXEC, PTRACE_PEEKTEXT, PTRACE_POKETEXT,
    PTRACE_SEIZE, PTRACE_SETREGS,
};

/// Event that a wait reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The new image is in place, nothing of it has run.
    Exec,
    /// Stopped by job control.
    GroupStop,
    /// Stopped by our own request, or woken from a group stop.
    Trap,
    /// About to receive this signal.
    Signal(u32),
    /// No more.
    Gone,
}

/// Reads a wait status.
pub fn event(status: u32) -> Event {
    if status & 0xff != 0x7f {
        return Event::Gone;
    }
    let (signal, code) = (status >> 8 & 0xff, status >> 16);
    const TRAP: u32 = 5;
    match code {
        PTRACE_EVENT_EXEC => Event::Exec,
        PTRACE_EVENT_STOP if signal == TRAP => Event::Trap,
        PTRACE_EVENT_STOP => Event::GroupStop,
        0 => Event::Signal(signal),
        _ => Event::Trap,
    }
}

/// A traced task.
#[derive(Clone, Copy, Debug)]
pub struct Tracee(pub i32);

impl Tracee {
    /// Attaches without stopping it; its end of life is bound to ours.
    pub fn seize(self) -> Result<(), Errno> {
        let options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        self.request(PTRACE_SEIZE, 0, options as usize)
    }
    pub fn interrupt(self) -> Result<(), Errno> {
        self.request(PTRACE_INTERRUPT, 0, 0)
    }
    /// Lets it run, with `signal` delivered first (0: none).
    pub fn resume(self, signal: u32) -> Result<(), Errno> {
        self.request(PTRACE_CONT, 0, signal as usize)
    }
    pub fn detach(self, signal: u32) -> Result<(), Errno> {
        self.request(PTRACE_DETACH, 0, signal as usize)
    }
    pub fn registers(self) -> Result<Regs, Errno> {
        let mut regs = Regs::default();
        self.request(PTRACE_GETREGS, 0, (&raw mut regs) as usize)?;
        Ok(regs)
    }
    pub fn set_registers(self, regs: &Regs) -> Result<(), Errno> {
        self.request(PTRACE_SETREGS, 0, core::ptr::from_ref(regs) as usize)
    }
    pub fn peek(self, address: u64) -> Result<[u8; 8], Errno> {
        let mut word = [0u8; 8];
        self.request(
            PTRACE_PEEKTEXT,
            address as usize,
            word.as_mut_ptr() as usize,
        )?;
        Ok(word)
    }
    pub fn poke(self, address: u64, word: [u8; 8]) -> Result<(), Errno> {
        let word = u64::from_le_bytes(word) as usize;
        self.request(PTRACE_POKETEXT, address as usize, word)
    }

    /// Reads whole words from `address` on.
    pub fn read(self, address: u64, to: &mut [u8]) -> Result<(), Errno> {
        let here = iovec {
            iov_base: to.as_mut_ptr().cast(),
            iov_len: to.len() as u64,
        };
        let there = iovec {
            iov_base: address as *mut _,
            ..here
        };
        let (to_here, from) = (&raw const here as usize, &raw const there as usize);
        let args = [self.0 as usize, to_here, 1, from, 1, 0];
        // SAFETY: `here` describes `to`; what is read is P's.
        let read = check(unsafe { Cpu.call(__NR_process_vm_readv, args) });
        if read == Ok(to.len()) {
            return Ok(());
        }
        // A filter forbids it, or the file may only be executed.
        for (word, place) in to.chunks_exact_mut(8).zip((address..).step_by(8)) {
            word.copy_from_slice(&self.peek(place)?);
        }
        Ok(())
    }

    /// Writes `pieces` one behind the other from `address` on.
    ///
    /// # Safety
    /// They are readable.
    pub unsafe fn write(self, address: u64, pieces: &[iovec]) -> Result<(), Errno> {
        let len: u64 = pieces.iter().map(|piece| piece.iov_len).sum();
        let there = iovec {
            iov_base: address as *mut _,
            iov_len: len,
        };
        let (from, to) = (pieces.as_ptr() as usize, (&raw const there) as usize);
        let args = [self.0 as usize, from, pieces.len(), to, 1, 0];
        // SAFETY: the caller's promise; what is written to is P's.
        let written = check(unsafe { Cpu.call(__NR_process_vm_writev, args) });
        if written == Ok(len as usize) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let bytes = |piece: &iovec| unsafe {
            core::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len as usize)
        };
        self.poke_all(address, pieces.iter().flat_map(bytes))
    }

    /// Word by word, for where a filter forbids the better way. The last one is filled
    /// with zeros.
    fn poke_all<'a>(
        self,
        address: u64,
        mut bytes: impl Iterator<Item = &'a u8>,
    ) -> Result<(), Errno> {
        for place in (address..).step_by(8) {
            let Some(first) = bytes.next() else {
                break;
            };
            let mut word = [*first, 0, 0, 0, 0, 0, 0, 0];
            for (to, from) in word[1..].iter_mut().zip(&mut bytes) {
                *to = *from;
            }
            self.poke(place, word)?;
        }
        Ok(())
    }

    fn request(self, request: u32, address: usize, data: usize) -> Result<(), Errno> {
        let args = [request as usize, self.0 as usize, address, data, 0, 0];
        // SAFETY: see the module; `data` is a number or memory of the right size.
        check(unsafe { Cpu.call(__NR_ptrace, args) }).map(drop)
    }
}

/// A task of ours that has something to report, if any: its id and status.
pub fn poll() -> Result<Option<(Tracee, u32)>, Errno> {
    let mut status = 0u32;
    let options = WNOHANG | __WALL;
    let args = [
        usize::MAX,
        (&raw mut status) as usize,
        options as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes one status word.
    match check(unsafe { Cpu.call(__NR_wait4, args) })? {
        0 => Ok(None),
        pid => Ok(Some((Tracee(pid as i32), status))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_apart() {
        assert_eq!(event(0x0004_057f), Event::Exec);
        assert_eq!(event(0x0080_137f), Event::GroupStop);
        assert_eq!(event(0x0080_057f), Event::Trap);
        assert_eq!(event(0x0000_0a7f), Event::Signal(10));
        assert_eq!(event(0x0000_057f), Event::Signal(5));
        assert_eq!(event(0x0000_0100), Event::Gone);
        assert_eq!(event(0x0000_0009), Event::Gone);
    }
}
