//! The compiler's mechanisms that can be switched off, each for itself.
//!
//! Which of them are on decides what code is made, so the set belongs to the key of a unit, and
//! its text to the unit's label. A new mechanism is one line of [`MECHANISMS`].

use core::fmt;

/// A set of mechanisms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Optimize(u64);

/// All mechanisms, each with its name on the command line and what it does.
#[rustfmt::skip] // a table
pub const MECHANISMS: [(&str, Optimize, &str); 19] = [
    ("counters", Optimize::COUNTERS, "a tool's counter has many cells in each thread, which are summed for reports"),
    ("flags", Optimize::FLAGS, "logic instructions are known to write all arithmetic flags"),
    ("returns", Optimize::RETURNS, "returns are paired with calls, so that the processor predicts them (off by itself where it lacks BMI2)"),
    ("indirect", Optimize::INDIRECT, "indirect jumps and calls look up their target in line"),
    ("calls", Optimize::CALLS, "analysis routines are called without entering the VM"),
    ("inline", Optimize::INLINE, "short analysis routines become a part of translated code"),
    ("buffers", Optimize::BUFFERS, "records are appended to a tool's buffers in line"),
    ("bundles", Optimize::BUNDLES, "a block counts its entries for all of its image counters at once"),
    ("cpuid", Optimize::CPUID, "answers of CPUID that do not change are remembered"),
    ("callees", Optimize::CALLEES, "direct calls, if returns are paired, are calls of the processor to the code that they lead to"),
    ("registers", Optimize::REGISTERS, "registers that inserted code, calls and returns have taken stay their own until the program touches them"),
    ("join", Optimize::JOIN, "what the blocks of a trace count is added once, and where the trace is left"),
    ("untaken", Optimize::UNTAKEN, "a branch that comes where it should is told from others by one that is not taken (AMD; off by itself elsewhere)"),
    ("predict", Optimize::PREDICT, "jumps and calls through a cell at a fixed place compare its contents with what they were, and go straight on"),
    ("apart", Optimize::APART, "code that the program may be rewriting compares itself on entry alone, if one register says that its stores go elsewhere"),
    ("entrances", Optimize::ENTRANCES, "without a tool, what leads into the middle of a known trace goes there, and is not translated once more"),
    ("canonical", Optimize::CANONICAL, "a return looks whether a program can have its address, instead of noting where it is"),
    ("sealed", Optimize::SEALED, "jumps and calls through a cell that the program has made read-only go straight to where it leads, and compare nothing"),
    ("tables", Optimize::TABLES, "a jump through a table that does not change, as of a `switch`, goes by slots of its own and the same index, and looks nothing up"),
];

/// There is no such mechanism, or a word is none at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown<'a>(pub &'a str);

impl Optimize {
    /// Counters have many cells in each thread.
    pub const COUNTERS: Self = Self(1 << 0);
    /// `and`, `or`, `xor` and `test` write AF, too. Off by itself where the processor does not.
    pub const FLAGS: Self = Self(1 << 1);

    /// Returns are paired with calls, so that the processor predicts them. Off by itself where the processor does not
    /// have `rorx` and `shrx`.
    pub const RETURNS: Self = Self(1 << 2);
    /// Indirect jumps and calls look up their target in line.
    pub const INDIRECT: Self = Self(1 << 3);
    /// Analysis routines are called without entering the VM.
    pub const CALLS: Self = Self(1 << 4);
    /// Short analysis routines become a part of translated code, if they may be called from it.
    pub const INLINE: Self = Self(1 << 5);

    /// Records are appended to buffers in line.
    pub const BUFFERS: Self = Self(1 << 6);

    /// A block counts its entries for all of its image counters at once.
    pub const BUNDLES: Self = Self(1 << 7);

    /// What CPUID answers, where that does not change, is remembered.
    pub const CPUID: Self = Self(1 << 8);

    /// A direct call is a `call` of the CPU to the code that it leads to, if returns are paired.
    pub const CALLEES: Self = Self(1 << 9);

    /// Registers that inserted code, calls and returns have taken stay their own until the app touches them.
    pub const REGISTERS: Self = Self(1 << 10);

    /// What several blocks of a trace count is added once, in the last of them, and where branches leave
    /// the trace before it.
    pub const JOIN: Self = Self(1 << 11);

    /// Where branches arrive, and behind returns, the comparison is a `loop`, which is not taken if the
    /// address is right. Off by itself where that instruction is slow.
    pub const UNTAKEN: Self = Self(1 << 12);

    /// Jumps and calls through a cell at a fixed place, as those to other images, compare what it holds
    /// with what it held, and go straight on.
    pub const PREDICT: Self = Self(1 << 13);

    /// Code that compares its source does not do so behind stores that go elsewhere, by what one register
    /// says on entry.
    pub const APART: Self = Self(1 << 14);

    /// Without a tool, code that leads into the middle of a trace goes there, and is not translated once more.
    pub const ENTRANCES: Self = Self(1 << 15);

    /// A return faults by itself if its address is none that a program has; else it notes where it is, in case the
    /// processor refuses the address.
    pub const CANONICAL: Self = Self(1 << 16);

    /// Jumps through cells that the loader has sealed (`PT_GNU_RELRO`) go where these lead, without a look at them.
    pub const SEALED: Self = Self(1 << 17);

    /// Jumps through tables that do not change go by slots of their own and the same index.
    pub const TABLES: Self = Self(1 << 18);

    /// No mechanism.
    pub const NONE: Self = Self(0);

    /// All mechanisms.
    pub const ALL: Self = {
        let (mut all, mut n) = (0, 0);
        while n < MECHANISMS.len() {
            all |= MECHANISMS[n].1.0;
            n += 1;
        }
        Self(all)
    };

    /// Whether all mechanisms of `other` are on.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Without the mechanisms of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The bits as they travel in the boot block.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// From the boot block; bits that mean nothing are dropped.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Reads a comma list: `+NAME` or `-NAME`, each added to or taken from all mechanisms. The
    /// first word may be `all` or `none` instead.
    ///
    /// # Errors
    /// The first word that is none of these.
    pub fn parse(text: &str) -> Result<Self, Unknown<'_>> {
        let mut set = Self::ALL;
        for (place, word) in text.split(',').enumerate() {
            set = match (place, word) {
                (0, "all") => Self::ALL,
                (0, "none") => Self::NONE,
                _ => set.changed(word).ok_or(Unknown(word))?,
            };
        }
        Ok(set)
    }

    /// The set after one `+NAME` or `-NAME`.
    fn changed(self, word: &str) -> Option<Self> {
        let name = word.strip_prefix(['+', '-'])?;
        let (_, mechanism, _) = MECHANISMS.iter().find(|(known, ..)| *known == name)?;
        Some(if word.starts_with('+') {
            Self(self.0 | mechanism.0)
        } else {
            self.without(*mechanism)
        })
    }
}

/// The shortest list that [`Optimize::parse`] reads as this set: `all`, or what is off.
impl fmt::Display for Optimize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let off = MECHANISMS.iter().filter(|(_, one, _)| !self.has(*one));
        for (place, (name, ..)) in off.enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}-{name}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.0;
        write!(f, "{word:?} is neither +NAME nor -NAME; the mechanisms are")?;
        for (place, (name, ..)) in MECHANISMS.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma} {name}")?;
        }
        f.write_str(" (first may stand all or none)")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn words_are_applied_in_their_order() {
        let without = Optimize::ALL.without(Optimize::COUNTERS);
        assert_eq!(Optimize::parse("all"), Ok(Optimize::ALL));
        assert_eq!(Optimize::parse("none"), Ok(Optimize::NONE));
        assert_eq!(Optimize::parse("-counters"), Ok(without));
        assert_eq!(
            Optimize::parse("none,+counters"),
            Ok(Optimize::from_bits(Optimize::COUNTERS.bits()))
        );
        assert_eq!(Optimize::parse("-counters,+counters"), Ok(Optimize::ALL));
    }

    #[test]
    fn other_words_are_refused_with_the_names_that_there_are() {
        for (text, word) in [
            ("", ""),
            ("counters", "counters"),
            ("-counters,none", "none"),
            ("none,+nothing", "+nothing"),
            ("-", "-"),
            ("-counters,", ""),
        ] {
            let refused = Optimize::parse(text).unwrap_err();
            assert_eq!(refused, Unknown(word), "{text}");
            let said = refused.to_string();
            assert!(MECHANISMS.iter().all(|(name, ..)| said.contains(name)));
            assert!(!said.contains('\n'));
        }
    }

    #[test]
    fn every_set_is_read_back_from_its_text_and_from_its_bits() {
        for bits in 0..=Optimize::ALL.bits() {
            let set = Optimize::from_bits(bits);
            assert_eq!(Optimize::parse(&set.to_string()), Ok(set));
            assert_eq!(Optimize::from_bits(set.bits()), set);
        }
        assert_eq!(Optimize::from_bits(u64::MAX), Optimize::ALL);
    }

    #[test]
    fn each_mechanism_has_a_bit_and_a_name_of_its_own() {
        for (place, (name, one, does)) in MECHANISMS.iter().enumerate() {
            assert_eq!(one.bits(), 1 << place);
            assert!(!does.is_empty());
            assert!(name.bytes().all(|b| b.is_ascii_lowercase()));
            assert!(!MECHANISMS[..place].iter().any(|(other, ..)| other == name));
        }
    }
}
