//! Threads of the program.

use alloc::vec::Vec;

/// A thread of the program: dense, in order of creation, never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// A thread, running or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadInfo {
    /// Its number here.
    pub id: ThreadId,
    /// Its number in the kernel.
    pub tid: u32,
}

/// The program's threads.
pub trait Threads {
    /// All threads so far, by number.
    fn threads(&self) -> Vec<ThreadInfo>;
}
