//! General registers and sets of them.

use iced_x86::Register;

/// A general register of 64 bits, by its hardware number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gpr(u8);

impl Gpr {
    /// rax.
    pub const RAX: Self = Self(0);
    /// rcx.
    pub const RCX: Self = Self(1);
    /// rdx.
    pub const RDX: Self = Self(2);
    /// rbx.
    pub const RBX: Self = Self(3);
    /// rsp.
    pub const RSP: Self = Self(4);
    /// rsi.
    pub const RSI: Self = Self(6);
    /// rdi.
    pub const RDI: Self = Self(7);
    /// r8.
    pub const R8: Self = Self(8);
    /// r10.
    pub const R10: Self = Self(10);
    /// r11.
    pub const R11: Self = Self(11);

    /// The register with this hardware number, which is below 16.
    pub const fn new(number: u8) -> Self {
        Self(number & 15)
    }

    /// The general register that `register` is a part of, if there is one.
    pub fn holding(register: Register) -> Option<Self> {
        let full = register.full_register();
        full.is_gpr64().then(|| Self::new(full.number() as u8))
    }

    /// Hardware number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// As the decoder names it.
    pub fn named(self) -> Register {
        Register::RAX + u32::from(self.0)
    }
}

/// Registers of arguments, in their order (System V ABI).
pub const ARGUMENTS: [Gpr; 6] = [Gpr::RDI, Gpr::RSI, Gpr::RDX, Gpr::RCX, Gpr::R8, Gpr::new(9)];

/// A set of general registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegSet(u16);

impl RegSet {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// All but the stack pointer, which is never given away.
    pub const ANY: Self = Self(!(1 << Gpr::RSP.0));

    /// The set of `registers`.
    pub const fn of(registers: &[Gpr]) -> Self {
        let mut set = 0;
        let mut at = 0;
        while at < registers.len() {
            set |= 1 << registers[at].0;
            at += 1;
        }
        Self(set)
    }

    /// Whether `register` is in it.
    pub const fn contains(self, register: Gpr) -> bool {
        self.0 & 1 << register.0 != 0
    }

    /// The set and `register`.
    pub const fn with(self, register: Gpr) -> Self {
        Self(self.0 | 1 << register.0)
    }

    /// Registers of either set.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Registers of both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Registers that are not in `other`.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its registers, by their numbers.
    pub fn iter(self) -> impl Iterator<Item = Gpr> {
        (0..16).map(Gpr).filter(move |it| self.contains(*it))
    }

    /// How many there are.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is exactly one.
    pub const fn is_single(self) -> bool {
        self.0.is_power_of_two()
    }
}

impl FromIterator<Gpr> for RegSet {
    fn from_iter<T: IntoIterator<Item = Gpr>>(registers: T) -> Self {
        registers.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for number in 0..16 {
            let register = Gpr::new(number);
            assert_eq!(Gpr::holding(register.named()), Some(register));
        }
        assert_eq!(Gpr::holding(Register::CH), Some(Gpr::RCX));
        assert_eq!(Gpr::holding(Register::R8D), Some(Gpr::R8));
        assert_eq!(Gpr::holding(Register::XMM1), None);
        assert_eq!(Gpr::holding(Register::RIP), None);
    }

    #[test]
    fn sets() {
        let set = RegSet::of(&[Gpr::RCX, Gpr::R8]);
        assert!(set.iter().eq([Gpr::RCX, Gpr::R8]));
        assert_eq!(set.iter().collect::<RegSet>(), set);
        assert!(set.contains(Gpr::RCX) && set.contains(Gpr::R8) && !set.contains(Gpr::RAX));
        assert_eq!(
            set.minus(RegSet::of(&[Gpr::R8])),
            RegSet::NONE.with(Gpr::RCX)
        );
        assert_eq!(set.and(RegSet::of(&[Gpr::RSP])), RegSet::NONE);
        assert!(set.minus(RegSet::of(&[Gpr::R8])).is_single() && !set.is_single());
        assert!(!RegSet::ANY.contains(Gpr::RSP) && RegSet::ANY.contains(Gpr::R8));
    }
}
