//! Temporaries: values of inserted code, in registers that the allocator chooses.

use ppin_decode::{Gpr, RegSet};

/// A temporary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Temp(pub u16);

/// Some temporaries, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Temps {
    /// Number of the first.
    pub first: u16,
    /// How many.
    pub len: u16,
}

impl Temps {
    /// `temps`, which were taken together.
    pub fn of(temps: &[Temp]) -> Self {
        let first = temps.first().map_or(0, |temp| temp.0);
        debug_assert!((first..).zip(temps).all(|(number, temp)| number == temp.0));
        Self {
            first,
            len: temps.len() as u16,
        }
    }

    /// One after the other.
    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Temp> {
        (self.first..self.first + self.len).map(Temp)
    }

    /// Whether `temp` is one of them.
    #[inline]
    pub fn contains(self, temp: Temp) -> bool {
        (self.first..self.first + self.len).contains(&temp.0)
    }
}

/// The temporaries that are alive somewhere: up to two [`Temps`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Living([Temps; 2]);

impl Living {
    /// `temps`, ascending, with at most one gap.
    pub fn of(temps: &[Temp]) -> Self {
        let follows = |one: &Temp, next: &Temp| one.0 + 1 == next.0;
        let mut runs = temps.chunk_by(follows).map(Temps::of);
        let both = [(); 2].map(|()| runs.next().unwrap_or(Temps::of(&[])));
        debug_assert!(runs.next().is_none(), "one gap at most");
        Self(both)
    }

    /// Those that were taken together.
    pub fn of_run(temps: Temps) -> Self {
        Self([temps, Temps::of(&[])])
    }

    /// One after the other.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Temp> {
        self.0.into_iter().flat_map(Temps::iter)
    }

    /// Whether `temp` is one of them.
    #[inline]
    pub fn contains(self, temp: Temp) -> bool {
        self.0.iter().any(|temps| temps.contains(temp))
    }
}

/// What a temporary needs of its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// One of these. Registers that operations name while the temporary lives are left out by
    /// the allocator; those that app instructions touch in that time are not in it.
    pub one_of: RegSet,
    /// Of them, those that the app does not need any more, nor can anybody look at before
    /// it writes to them: they need not be kept.
    pub free: RegSet,
    /// Any other will do, too, that stays with inserted code already.
    pub or_kept: bool,
}

impl Need {
    /// This very register.
    pub const fn fixed(register: Gpr) -> Self {
        Self::one_of(RegSet::NONE.with(register))
    }

    /// Any one of `registers`.
    pub const fn one_of(registers: RegSet) -> Self {
        Self {
            one_of: registers,
            free: RegSet::NONE,
            or_kept: false,
        }
    }

    /// The same, but registers of `free` need not be kept.
    pub const fn or_free(self, free: RegSet) -> Self {
        Self { free, ..self }
    }

    /// The same, or any one that stays with inserted code already.
    pub const fn or_kept(self) -> Self {
        let or_kept = true;
        Self { or_kept, ..self }
    }
}
