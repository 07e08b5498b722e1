//! Opcodes: what an instruction does, whatever its operands.
//!
//! Their names are one text, `opcodes.txt`, in the order of their numbers. It holds no
//! pointers, so the injected runtime has nothing to relocate for it.

use core::fmt;

/// A mnemonic, as a dense number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(u16);

/// The names, in the order of their numbers.
pub const NAMES: &str = include_str!("opcodes.txt");

/// Number of [`Opcode`]s; each is below it.
pub const OPCODES: u32 = count(NAMES.as_bytes());

/// Where each name ends in [`NAMES`].
static ENDS: [u16; OPCODES as usize] = ends(NAMES.as_bytes());

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

    /// Its name, in lower case, as assembly is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        let number = usize::from(self.0);
        let before = number.checked_sub(1).map(|n| usize::from(ENDS[n]) + 1);
        NAMES
            .get(before.unwrap_or(0)..usize::from(ENDS[number]))
            .unwrap_or_default()
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether `letter` stands between names; there is exactly one behind each.
const fn separates(letter: u8) -> bool {
    matches!(letter, b' ' | b'\n')
}

const fn count(text: &[u8]) -> u32 {
    let (mut names, mut at) = (0, 0);
    while at < text.len() {
        names += separates(text[at]) as u32;
        at += 1;
    }
    names
}

const fn ends<const N: usize>(text: &[u8]) -> [u16; N] {
    assert!(text.len() <= u16::MAX as usize);
    let (mut ends, mut names, mut at) = ([0; N], 0, 0);
    while at < text.len() {
        if separates(text[at]) {
            ends[names] = at as u16;
            names += 1;
        }
        at += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_number_below_the_limit_has_a_name_of_its_own() {
        let names: HashSet<&str> = (0..OPCODES)
            .map(|number| Opcode::from_index(number).unwrap().name())
            .collect();
        assert_eq!(names.len(), OPCODES as usize);
        assert!(names.iter().all(|name| !name.is_empty()));
        assert!(names.contains("mov") && names.contains("vsm4rnds4"));
        assert_eq!(Opcode::from_index(OPCODES), None);
        assert_eq!(Opcode::from_index(0).unwrap().to_string(), "invalid");
    }
}
