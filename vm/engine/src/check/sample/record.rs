//! The shared record in which the copies leave their results for each other and the program.

use super::vector::VECTOR;
use core::fmt;
use ppin_os::frame::{UContext, greg};
use ppin_os::{mem, place};

/// Most instruction boundaries in a sample.
pub(super) const PLACES: usize = 250;
/// Most stores in a sample.
const STRETCHES: usize = 500;
/// Most stored bytes in a sample.
const BYTES: usize = 24 << 10;

/// How far the copies have got. 0: a copy could not be made or has died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Outcome {
    /// The translated code has been run.
    Translated = 1,
    /// The app's own code has done the same.
    Same = 2,
    /// The app's own code has done something else.
    Different = 3,
}

/// The app state at an instruction boundary.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Place {
    /// Address of the next instruction.
    pub pc: u64,
    /// Cache address of the next instruction.
    pub cache: u64,
    /// General registers, in hardware order.
    pub gpr: [u64; 16],
    /// rflags.
    pub flags: u64,
    /// 1: a fragment is entered here, so that all flags have their app values, even flags that no
    /// instruction will read; unless a tool may have lost them on the way.
    pub head: u64,
    /// 1: a direct call has led here.
    pub called: u64,
    /// The word below the return address then, which translated calls write to.
    pub below: u64,
}

impl Place {
    /// The app state in `context`.
    #[must_use]
    pub(super) fn of(context: &UContext, pc: u64, cache: u64, head: bool) -> Self {
        Self {
            pc,
            cache,
            gpr: greg::BY_NUMBER.map(|number| context.gregs[number]),
            flags: context.gregs[greg::FLAGS],
            head: head.into(),
            called: 0,
            below: 0,
        }
    }
}

/// Memory that was stored to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Stretch {
    /// Address.
    pub at: u64,
    /// Bytes.
    pub len: u32,
    /// Number of the place whose instruction stores there, or [`LOST`].
    pub place: u32,
}

/// In [`Stretch::place`]: its bytes need not be equal any more.
const LOST: u32 = u32::MAX;

impl Stretch {
    fn overlaps(&self, at: u64, len: u64) -> bool {
        self.at < at + len && at < self.at + u64::from(self.len)
    }
}

/// The kind of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Part {
    /// The pc.
    Pc,
    /// A general register, by hardware number.
    Register,
    /// The flags.
    Flags,
    /// A byte of the x87 and vector state, by offset in the XSAVE area.
    Vector,
    /// A byte of memory, by address.
    Memory,
    /// The native copy got a signal, by number.
    Fault,
}

/// A difference between the copies.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Difference {
    /// Kind of the difference.
    pub part: Part,
    /// Number of the place at which it was noticed.
    pub place: u32,
    /// Register number, offset, address or signal number, depending on `part`.
    pub which: u64,
    /// Value in the native copy.
    pub native: u64,
    /// Value in the translated copy.
    pub ours: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 16] = [
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11",
            "r12", "r13", "r14", "r15",
        ];
        let which = self.which;
        match self.part {
            Part::Pc => write!(f, "the pc")?,
            Part::Register => write!(f, "{}", NAMES[which as usize & 15])?,
            Part::Flags => write!(f, "the flags")?,
            Part::Vector => write!(f, "or one before it, byte {which} of the vector state")?,
            Part::Memory => write!(f, "the byte at {which:#x}")?,
            Part::Fault => return write!(f, "there is signal {which} natively"),
        }
        write!(f, " is {:#x} natively, and {:#x}", self.native, self.ours)
    }
}

/// The shared record. All zero is its initial state.
#[repr(C)]
pub(super) struct Record {
    /// An [`Outcome`].
    pub outcome: u32,
    places: u32,
    stretches: u32,
    bytes: u32,
    /// The difference, with [`Outcome::Different`].
    pub difference: Difference,
    /// Vector state at the last place.
    pub vector: [u8; VECTOR],
    all_places: [Place; PLACES],
    all_stretches: [Stretch; STRETCHES],
    all_bytes: [u8; BYTES],
}

impl Record {
    /// All recorded places.
    #[must_use]
    pub(super) fn places(&self) -> &[Place] {
        &self.all_places[..self.places as usize]
    }

    /// Place `number`.
    #[must_use]
    pub(super) fn place(&self, number: u32) -> Place {
        self.all_places[(number as usize).min(PLACES - 1)]
    }

    /// Number of instructions between the recorded places.
    #[must_use]
    pub(super) fn steps(&self) -> u32 {
        self.places.saturating_sub(1)
    }

    /// Records a place; returns whether another one fits.
    pub(super) fn add_place(&mut self, place: Place) -> bool {
        self.all_places[self.places as usize] = place;
        self.places += 1;
        (self.places as usize) < PLACES
    }

    /// Records that the instruction at the last place stores `len` bytes at `at`; returns whether
    /// there was room for that.
    pub(super) fn add_stretch(&mut self, at: u64, len: u64) -> bool {
        let room = BYTES - self.bytes as usize;
        if self.stretches as usize == STRETCHES || len > room as u64 {
            return false;
        }
        self.all_stretches[self.stretches as usize] = Stretch {
            at,
            len: len as u32,
            place: self.places - 1,
        };
        self.stretches += 1;
        self.bytes += len as u32;
        true
    }

    /// What has been stored to `at`, `len` bytes, is not compared: translated code stores there what
    /// native code does not, below the app's stack.
    pub(super) fn lose(&mut self, at: u64, len: u64) {
        let all = &mut self.all_stretches[..self.stretches as usize];
        for stretch in all.iter_mut().filter(|stretch| stretch.overlaps(at, len)) {
            stretch.place = LOST;
        }
    }

    /// The memory to compare, each piece with room for its bytes. Memory that the instruction at
    /// the last place stores to is left out, because it may have changed already.
    pub(super) fn compared(&mut self) -> impl Iterator<Item = (Stretch, &mut [u8])> {
        let last = self.places.saturating_sub(1);
        let all = &self.all_stretches[..self.stretches as usize];
        let mut rest = &mut self.all_bytes[..];
        let with_room = all.iter().map(move |stretch| {
            let (bytes, behind) = core::mem::take(&mut rest).split_at_mut(stretch.len as usize);
            rest = behind;
            (*stretch, bytes)
        });
        with_room.filter(move |(stretch, _)| {
            let touched = |other: &&Stretch| {
                other.place == last && other.overlaps(stretch.at, stretch.len.into())
            };
            stretch.place != last
                && stretch.place != LOST
                && !all.iter().any(|other| touched(&other))
        })
    }
}

/// A [`Record`] in memory that the copies of the process share with it.
pub(super) struct Shared(*mut Record);

impl Shared {
    /// Maps a new record; `None` if there is no memory.
    #[must_use]
    pub(super) fn map() -> Option<Self> {
        let at = place::anywhere_shared(size_of::<Record>() as u64, mem::RW).ok()?;
        Some(Self(at as *mut Record))
    }

    /// Address of the record.
    #[must_use]
    pub(super) fn at(&self) -> *mut Record {
        self.0
    }

    /// The record, once the copies have ended.
    #[must_use]
    pub(super) fn get(&self) -> &Record {
        // SAFETY: mapped as long as `self`, and zeroed or written as a Record. Of its fields only
        // `Part` has invalid values, and 0 is valid.
        unsafe { &*self.0 }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: no other code in this process refers to it.
        let _ = unsafe { mem::unmap(self.0 as u64, size_of::<Record>() as u64) };
    }
}
