//! Which registers of the app lie in the spill area, and where.

/// Number of spill slots.
pub const SPILL_SLOTS: usize = 8;

/// A cell of [`crate::area::Area::spill`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct SpillSlot(u8);

impl SpillSlot {
    /// The slot with this number.
    #[must_use]
    pub const fn new(number: usize) -> Option<Self> {
        if number < SPILL_SLOTS {
            Some(Self(number as u8))
        } else {
            None
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// Displacement from `gs`, in bytes.
    #[must_use]
    pub const fn disp(self) -> u32 {
        0x08 + 8 * self.0 as u32
    }
}

/// Registers that have a spill slot of their own, their *home*. Any register may lie in any
/// slot ([`SpillSet`]); at home it is where runtime routines look for it, and
/// in a restartable sequence always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Spill {
    /// app rax
    Rax = 0,
    /// app rcx: the register by which emitted code speaks to the runtime
    Rcx = 1,
    /// app rdx
    Rdx = 2,
    /// app rbx
    Rbx = 3,
    /// app rsi
    Rsi = 4,
    /// app rdi
    Rdi = 5,
    /// app r8
    R8 = 6,
}

impl Spill {
    /// All of them, by slot.
    pub const ALL: [Self; 7] = [
        Self::Rax,
        Self::Rcx,
        Self::Rdx,
        Self::Rbx,
        Self::Rsi,
        Self::Rdi,
        Self::R8,
    ];

    /// The slot.
    #[must_use]
    pub const fn slot(self) -> SpillSlot {
        match SpillSlot::new(self as usize) {
            Some(slot) => slot,
            None => unreachable!(),
        }
    }
    /// Displacement from `gs`, in bytes.
    #[must_use]
    pub const fn disp(self) -> u32 {
        self.slot().disp()
    }
    /// Hardware number of its register.
    #[must_use]
    pub const fn register(self) -> u8 {
        const NUMBERS: [u8; 7] = [0, 1, 2, 3, 6, 7, 8];
        NUMBERS[self as usize]
    }
    /// Its bit in a mask of homes.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// For each spill slot, the register whose app value lies there.
///
/// In emitted tables and in unit files it is a byte for each slot: 0, or the register's
/// hardware number and 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct SpillSet([u8; SPILL_SLOTS]);

impl SpillSet {
    /// All registers are in place.
    pub const NONE: Self = Self([0; SPILL_SLOTS]);

    /// The set with these bytes. `None`: a byte is no register, or a register lies in two
    /// slots, or it is the stack pointer, which is always in place.
    #[must_use]
    pub fn from_bytes(bytes: [u8; SPILL_SLOTS]) -> Option<Self> {
        /// A bit for each register that may not come: the stack pointer.
        const NEVER: u16 = 1 << 4;
        let mut registers = bytes.iter().filter_map(|byte| byte.checked_sub(1));
        registers.try_fold(NEVER, |seen, number| {
            let bit = 1_u16.checked_shl(number.into())?;
            (seen & bit == 0).then_some(seen | bit)
        })?;
        Some(Self(bytes))
    }

    /// Its bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; SPILL_SLOTS] {
        self.0
    }

    /// Whether all registers are in place.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        u64::from_le_bytes(self.0) == 0
    }

    /// The same, with `register` (hardware number) in `slot`.
    #[must_use]
    pub const fn with(mut self, slot: SpillSlot, register: u8) -> Self {
        self.0[slot.number()] = register + 1;
        self
    }

    /// The same, with nothing in `slot`.
    #[must_use]
    pub const fn without(mut self, slot: SpillSlot) -> Self {
        self.0[slot.number()] = 0;
        self
    }

    /// Slots and the registers (hardware numbers) that lie there.
    pub fn iter(self) -> impl Iterator<Item = (SpillSlot, u8)> {
        let slots = (0..).map(SpillSlot).zip(self.0);
        slots.filter_map(|(slot, byte)| byte.checked_sub(1).map(|register| (slot, register)))
    }

    /// Where `register` (hardware number) lies.
    #[must_use]
    pub fn slot_of(self, register: u8) -> Option<SpillSlot> {
        self.iter()
            .find(|(_, lies)| *lies == register)
            .map(|(slot, _)| slot)
    }

    /// Registers at home, by a bit for each slot ([`Spill::bit`]); other bits are left out.
    #[must_use]
    pub fn at_home(mask: u8) -> Self {
        let homes = Spill::ALL.into_iter().filter(|home| mask & home.bit() != 0);
        homes.fold(Self::NONE, |set, home| {
            set.with(home.slot(), home.register())
        })
    }

    /// That mask; `None`: a register is not at home.
    #[must_use]
    pub fn home_mask(self) -> Option<u8> {
        let mask = self
            .iter()
            .fold(0, |mask, (slot, _)| mask | 1 << slot.number());
        (Self::at_home(mask) == self).then_some(mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_registers() {
        let (last, first) = (SpillSlot::new(7).unwrap(), SpillSlot::new(0).unwrap());
        let set = SpillSet::NONE.with(last, 15).with(first, 0);
        assert!(!set.is_empty() && SpillSet::NONE.is_empty());
        assert!(set.iter().eq([(first, 0), (last, 15)]));
        assert_eq!((set.slot_of(15), set.slot_of(1)), (Some(last), None));
        assert_eq!(SpillSet::from_bytes(set.to_bytes()), Some(set));
        assert!(set.without(last).without(first).is_empty());
        assert_eq!(SpillSlot::new(8), None);
    }

    #[test]
    fn damaged_bytes_are_no_set() {
        let of = |a, b| SpillSet::from_bytes([a, b, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of(0, 0), Some(SpillSet::NONE));
        assert!(of(1, 16).is_some());
        assert_eq!(of(2, 2), None);
        assert_eq!(of(17, 0), None);
        assert_eq!(of(0, 5), None, "rsp");
    }

    #[test]
    fn homes() {
        let mask = Spill::Rcx.bit() | Spill::R8.bit();
        let set = SpillSet::at_home(mask);
        assert_eq!(set.slot_of(1), Some(Spill::Rcx.slot()));
        assert_eq!(set.slot_of(8), Some(Spill::R8.slot()));
        assert_eq!(set.home_mask(), Some(mask));
        assert_eq!(SpillSet::NONE.home_mask(), Some(0));
        let elsewhere = SpillSet::NONE.with(Spill::Rcx.slot(), 2);
        assert_eq!(elsewhere.home_mask(), None);
    }
}
