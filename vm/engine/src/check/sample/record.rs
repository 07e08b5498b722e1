//! What the copies tell each other and the program.

use super::vector::VECTOR;
use core::fmt;
use ppin_os::frame::{UContext, greg};
use ppin_os::{mem, place};

/// Boundaries in a sample.
pub(super) const PLACES: usize = 250;
/// Stores in it.
const STRETCHES: usize = 500;
/// Bytes stored in it.
const BYTES: usize = 24 << 10;

/// How far the copies have come; 0: nowhere, one could not be made or has died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Outcome {
    /// The translated code has been run.
    Translated = 1,
    /// The app's own code does the same.
    Same = 2,
    /// It does not.
    Different = 3,
}

/// The app at a boundary.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Place {
    /// Instruction that comes next.
    pub pc: u64,
    /// The same in the cache.
    pub cache: u64,
    /// General registers, in hardware order.
    pub gpr: [u64; 16],
    /// rflags.
    pub flags: u64,
    /// 1: a fragment is entered here, so that all flags are in place, even those that
    /// nobody will read.
    pub head: u64,
}

impl Place {
    /// As `context` has it.
    #[must_use]
    pub(super) fn of(context: &UContext, pc: u64, cache: u64, head: bool) -> Self {
        Self {
            pc,
            cache,
            gpr: greg::BY_NUMBER.map(|number| context.gregs[number]),
            flags: context.gregs[greg::FLAGS],
            head: head.into(),
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
    /// Number of the place whose instruction stores there.
    pub place: u32,
}

/// What is not the same.
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

/// See [`Part`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Difference {
    /// What it is.
    pub part: Part,
    /// Place at which it was noticed.
    pub place: u32,
    /// Which one.
    pub which: u64,
    /// The processor's.
    pub native: u64,
    /// That of translated code.
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

/// See the module. All zero is the beginning.
#[repr(C)]
pub(super) struct Record {
    /// An [`Outcome`].
    pub outcome: u32,
    places: u32,
    stretches: u32,
    bytes: u32,
    /// With [`Outcome::Different`].
    pub difference: Difference,
    /// Vector state at the last place.
    pub vector: [u8; VECTOR],
    all_places: [Place; PLACES],
    all_stretches: [Stretch; STRETCHES],
    all_bytes: [u8; BYTES],
}

impl Record {
    /// The places noted.
    #[must_use]
    pub(super) fn places(&self) -> &[Place] {
        &self.all_places[..self.places as usize]
    }

    /// One of them.
    #[must_use]
    pub(super) fn place(&self, number: u32) -> Place {
        self.all_places[(number as usize).min(PLACES - 1)]
    }

    /// Instructions between them.
    #[must_use]
    pub(super) fn steps(&self) -> u32 {
        self.places.saturating_sub(1)
    }

    /// Notes a place; whether there is room for another one.
    pub(super) fn add_place(&mut self, place: Place) -> bool {
        self.all_places[self.places as usize] = place;
        self.places += 1;
        (self.places as usize) < PLACES
    }

    /// Notes that the instruction at the last place stores `len` bytes at `at`; whether
    /// there was room for it.
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

    /// The stretches noted, each with room for its bytes, but for those that the
    /// instruction at the last place may have changed already: it is not compared.
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
                other.place == last
                    && other.at < stretch.at + u64::from(stretch.len)
                    && stretch.at < other.at + u64::from(other.len)
            };
            stretch.place != last && !all.iter().any(|other| touched(&other))
        })
    }
}

/// A record in memory that copies of the process share with it.
pub(super) struct Shared(*mut Record);

impl Shared {
    /// A fresh one; `None` without memory for it.
    #[must_use]
    pub(super) fn map() -> Option<Self> {
        let at = place::anywhere_shared(size_of::<Record>() as u64, mem::RW).ok()?;
        Some(Self(at as *mut Record))
    }

    /// Its address.
    #[must_use]
    pub(super) fn at(&self) -> *mut Record {
        self.0
    }

    /// What is in it, once the copies are gone.
    #[must_use]
    pub(super) fn get(&self) -> &Record {
        // SAFETY: mapped as long as `self`, and zeroed or written as a Record: of its
        // fields only `Part` has forbidden values, and 0 is not one of them.
        unsafe { &*self.0 }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nobody else in this process knows it.
        let _ = unsafe { mem::unmap(self.0 as u64, size_of::<Record>() as u64) };
    }
}
