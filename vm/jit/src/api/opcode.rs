//! Opcodes: what an instruction does, whatever its operands.

use core::fmt;
use iced_x86::Mnemonic;

/// A mnemonic, as a dense number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub(crate) u16);

/// Number of [`Opcode`]s; each is below it.
pub const OPCODES: u32 = {
    let last = Mnemonic::Vsm4rnds4 as u32;
    last + 1
};

impl Opcode {
    /// The opcode of number `index`, if there is one.
    #[must_use]
    pub fn from_index(index: u32) -> Option<Self> {
        let number = u16::try_from(index).ok()?;
        (index < OPCODES).then_some(Self(number))
    }

    /// Its number: the counter to use for a count per opcode.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Mnemonic::try_from(usize::from(self.0)) {
            Ok(mnemonic) => Lower(f).write(mnemonic),
            Err(_) => f.write_str("?"),
        }
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Passes on what is written in lower case, as assembly is.
struct Lower<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Lower<'_, '_> {
    fn write(&mut self, mnemonic: Mnemonic) -> fmt::Result {
        fmt::Write::write_fmt(self, format_args!("{mnemonic:?}"))
    }
}

impl fmt::Write for Lower<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars()
            .try_for_each(|letter| fmt::Write::write_char(self.0, letter.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_number_below_the_limit_has_a_name() {
        assert_eq!(Mnemonic::values().count(), OPCODES as usize);
        assert_eq!(Opcode(Mnemonic::Mov as u16).to_string(), "mov");
        assert_eq!(Opcode::from_index(OPCODES), None);
    }
}
