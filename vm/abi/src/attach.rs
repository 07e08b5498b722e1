//! What passes between `ppin attach` and the runtime in a program that runs already.
//!
//! The program's threads are stopped (ptrace(2)). What each was doing stands in the boot block
//! ([`crate::boot::BootHeader::tasks`]). The first of them enters the runtime, which makes its structures for all
//! threads and then says so by a trap (`int3`) with [`READY`] in rdi. In rsi is the address of a [`Start`] for each of
//! the others, in their order; in rdx where they are to begin. Who attaches puts [`GO`] into rax.

/// Number of [`Task::words`].
pub const WORDS: usize = 60;

/// What is in rdi at the trap by which the runtime says that it is ready.
pub const READY: u64 = u64::from_le_bytes(*b"ppready1");

/// What is in rax behind it if all is well.
pub const GO: u64 = u64::from_le_bytes(*b"ppin go!");

/// What a thread was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Task {
    /// Its number.
    pub tid: u64,
    /// App address at which it goes on.
    pub pc: u64,
    /// Flags of the processor.
    pub flags: u64,
    /// General registers, by their number in instructions.
    pub gpr: [u64; 16],
    /// Base and selector of its gs.
    pub gs: [u64; 2],
    /// The system call that the stop has interrupted and that it is about to make again: its number, and the kernel's
    /// error for that (`ERESTARTSYS` and its kin); 0: none.
    pub call: [u64; 2],
    /// Signals that it blocks (bit 0: signal 1).
    pub mask: u64,
    /// Control and status of vector instructions.
    pub mxcsr: u64,
    /// xmm0 to xmm15, low word first.
    pub xmm: [[u64; 2]; 16],
    /// Its rseq(2) registration: address, length, signature; address 0: none.
    pub rseq: [u64; 3],
}

impl Task {
    /// As words, for the boot block.
    #[must_use]
    pub fn words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let parts: [&[u64]; 7] = [
            &[self.tid, self.pc, self.flags],
            &self.gpr,
            &self.gs,
            &self.call,
            &[self.mask, self.mxcsr],
            self.xmm.as_flattened(),
            &self.rseq,
        ];
        let mut rest = &mut words[..];
        for part in parts {
            let (here, behind) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = behind;
        }
        words
    }

    /// From these words.
    #[must_use]
    pub fn of_words(words: &[u64; WORDS]) -> Self {
        let mut words = words.iter().copied();
        let mut next = || words.next().unwrap_or_default();
        Self {
            tid: next(),
            pc: next(),
            flags: next(),
            gpr: core::array::from_fn(|_| next()),
            gs: [next(), next()],
            call: [next(), next()],
            mask: next(),
            mxcsr: next(),
            xmm: core::array::from_fn(|_| [next(), next()]),
            rseq: [next(), next(), next()],
        }
    }
}

/// The tasks in `bytes`, the words of each one behind the other.
pub fn tasks(bytes: &[u8]) -> impl Iterator<Item = Task> {
    let (all, _) = bytes.as_chunks::<{ 8 * WORDS }>();
    all.iter().map(|task| {
        let (words, _) = task.as_chunks::<8>();
        let mut all = [0; WORDS];
        for (to, from) in all.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*from);
        }
        Task::of_words(&all)
    })
}

/// How a thread begins under ppin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Start {
    /// Its structure, for rdi.
    pub thread: u64,
    /// Top of its stack, aligned to 16 bytes.
    pub stack: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_written() {
        let mut words = [0; WORDS];
        for (n, word) in (1..).zip(&mut words) {
            *word = n << 33 | n;
        }
        let task = Task::of_words(&words);
        assert_eq!(task.words(), words);
        assert_eq!([task.tid as u32, task.rseq[2] as u32], [1, WORDS as u32]);
        let mut bytes = [0; 2 * 8 * WORDS + 7];
        for (to, word) in bytes
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .zip([words, words].as_flattened())
        {
            *to = word.to_le_bytes();
        }
        let mut read = tasks(&bytes);
        assert_eq!(
            [read.next(), read.next(), read.next()],
            [Some(task), Some(task), None]
        );
    }
}
