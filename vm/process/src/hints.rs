//! What forked children had to ask for, told to their parent.
//!
//! A shell forks for each command, and its children run code that it never runs itself: each of
//! them would admit the same groups of persisted code, and link the same exits. So a child notes
//! what it had to ask the VM for, in a page that it shares with its parent. Before the next fork
//! the parent asks for the same, and the next child finds it done. What a child had to translate it says
//! when it has saved it: else all children of a first run would translate the same.
//!
//! These are hints: a child may have other rights than its parent, and may be hostile. The parent
//! looks up everything by itself, and translates nothing for them.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_os::{mem, place};

/// What a child had to ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hint {
    /// It has run code of a group that was closed, at this cache address.
    Group(u64),
    /// It has left by an exit of a unit whose record lies at this cache address.
    Exit(u64),
    /// An indirect branch has gone to this app address, for which a unit has code.
    Indirect(u64),
    /// A call has come to what only passes it on, which leaves for a lookup at this cache address.
    PassedOn(u64),
    /// It has written a unit of the image at this app address.
    Saved(u64),
}

/// Addresses of user space leave room for the kind.
const KIND_BITS: u32 = 3;

impl Hint {
    const fn encode(self) -> u64 {
        let (kind, address) = match self {
            Self::Group(address) => (1, address),
            Self::Exit(address) => (2, address),
            Self::Indirect(address) => (3, address),
            Self::Saved(address) => (4, address),
            Self::PassedOn(address) => (5, address),
        };
        address << KIND_BITS | kind
    }

    /// `None`: a word that is being written, or means nothing.
    const fn decode(word: u64) -> Option<Self> {
        let address = word >> KIND_BITS;
        match word & ((1 << KIND_BITS) - 1) {
            1 => Some(Self::Group(address)),
            2 => Some(Self::Exit(address)),
            3 => Some(Self::Indirect(address)),
            4 => Some(Self::Saved(address)),
            5 => Some(Self::PassedOn(address)),
            _ => None,
        }
    }
}

/// Hints that a page has room for.
const ROOM: usize = mem::PAGE as usize / 8 - 1;

/// Memory that a process shares with its forked children.
#[repr(C)]
#[derive(Debug)]
struct Page {
    /// Hints that were noted; there may be more of them than room.
    count: AtomicU64,
    words: [AtomicU64; ROOM],
}

const _: () = assert!(size_of::<Page>() == mem::PAGE as usize);

/// The pages that this process shares with its parent and with its children.
#[derive(Debug, Default)]
pub struct Hints {
    to_parent: Option<&'static Page>,
    from_children: Option<&'static Page>,
}

impl Hints {
    /// The process is about to fork: it needs a page for its children.
    pub fn before_fork(&mut self) {
        if self.from_children.is_none() {
            let page = place::anywhere_shared(mem::PAGE, mem::RW);
            // SAFETY: mapped and zeroed, never unmapped in this process, and all of it is atomic.
            self.from_children = page.ok().map(|at| unsafe { &*(at as *const Page) });
        }
    }

    /// This process is a forked child.
    pub fn in_child(&mut self) {
        let grandparents = core::mem::take(self);
        self.to_parent = grandparents.from_children;
        if let Some(page) = grandparents.to_parent {
            let at = core::ptr::from_ref(page) as u64;
            // SAFETY: nobody in this process knows it any more.
            let _ = unsafe { mem::unmap(at, mem::PAGE) };
        }
    }

    /// Tells the parent, if it wants to know.
    pub fn note(&self, hint: Hint) {
        if let Some(page) = self.to_parent
            && page.count.load(Ordering::Relaxed) < ROOM as u64
        {
            let place = page.count.fetch_add(1, Ordering::Relaxed) as usize;
            if let Some(word) = page.words.get(place) {
                word.store(hint.encode(), Ordering::Release);
            }
        }
    }

    /// What children have noted since this was last asked.
    pub fn take(&mut self) -> Vec<Hint> {
        let Some(page) = self.from_children else {
            return Vec::new();
        };
        let count = (page.count.load(Ordering::Relaxed) as usize).min(ROOM);
        let taken = page.words[..count].iter();
        let taken = taken.filter_map(|word| Hint::decode(word.swap(0, Ordering::Acquire)));
        let taken = taken.collect();
        page.count.store(0, Ordering::Relaxed);
        taken
    }

    /// This process ends: what its children have noted since is for its parent, whose next children may be
    /// parents, too.
    pub fn pass_on(&mut self) {
        if self.to_parent.is_some() {
            self.take().into_iter().for_each(|hint| self.note(hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that has forked, and its child.
    fn family() -> (Hints, Hints) {
        let mut parent = Hints::default();
        parent.before_fork();
        let mut child = Hints {
            from_children: parent.from_children,
            ..Hints::default()
        };
        child.in_child();
        (parent, child)
    }

    #[test]
    fn the_parent_gets_what_its_children_note_once() {
        let (mut parent, child) = family();
        let all = [
            Hint::Group(0x7fff_ffff_f000),
            Hint::Exit(0x5500_0000_0004),
            Hint::Indirect(0x40_1001),
            Hint::Saved(0x7fff_ffff_ffff),
        ];
        all.iter().for_each(|hint| child.note(*hint));
        assert_eq!(parent.take(), all);
        assert_eq!(parent.take(), []);
        child.note(all[0]);
        assert_eq!(parent.take(), all[..1]);
    }

    #[test]
    fn what_grandchildren_note_is_passed_on() {
        let (mut parent, mut child) = family();
        child.before_fork();
        let mut grandchild = Hints {
            from_children: child.from_children,
            to_parent: None,
        };
        grandchild.in_child();
        grandchild.note(Hint::Group(0x1000));
        assert_eq!(parent.take(), []);
        child.pass_on();
        assert_eq!(parent.take(), [Hint::Group(0x1000)]);
        assert_eq!(child.take(), []);
        parent.pass_on();
    }

    #[test]
    fn more_than_there_is_room_for_is_dropped() {
        let (mut parent, child) = family();
        for n in 1..=2 * ROOM as u64 {
            child.note(Hint::Exit(n));
        }
        let taken = parent.take();
        assert_eq!(taken.len(), ROOM);
        assert_eq!(taken.last(), Some(&Hint::Exit(ROOM as u64)));
    }

    #[test]
    fn words_that_mean_nothing_are_left_out() {
        let (mut parent, child) = family();
        child.note(Hint::Group(1));
        let page = child.to_parent.unwrap();
        page.count.store(u64::MAX, Ordering::Relaxed);
        page.words[1].store(1 << KIND_BITS | 7, Ordering::Relaxed);
        assert_eq!(parent.take(), [Hint::Group(1)]);
        assert_eq!(page.count.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn without_a_parent_nothing_is_noted() {
        let mut first = Hints::default();
        first.note(Hint::Group(1));
        assert_eq!(first.take(), []);
    }
}
