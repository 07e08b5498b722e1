//! Slots as they lie in the file: symbolic, so that they say the same wherever the
//! unit and its image are mapped.

use ppin_abi::addr::ImageOff;

/// Contents of a slot in a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotValue {
    /// Absolute app address.
    App(ImageOff),
    /// What makes 0 with the app address to which a call is returned.
    Landing(ImageOff),
    /// Cache address at this offset of the unit's cold section: of an exit. The eight bytes are no address
    /// that the processor goes to (not canonical, AMD64 Architecture Programmer's Manual, volume 1, section
    /// 2.1.3), so such slots need not be made right before code is used: who jumps through one faults.
    Cold(u32),
    /// What makes 0 with the app address that a jump is predicted to go to.
    Prediction(ImageOff),
    /// Cache address at this offset of the unit's hot section.
    Hot(u32),
    /// The same, for an entry of a table by which a jump goes.
    Case(u32),
    /// Displacement from `gs` of the thread's counters for the unit's image.
    ImageCounters,
    /// Displacement from `gs` of so many cells of the fragment's own, at least one.
    Bundles(u16),
}

/// Where a unit and its image are mapped: what most slots depend on.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Address of image offset 0.
    pub app: u64,
    /// Address of the unit's hot section.
    pub hot: u64,
    /// What is exclusive-ored to the values of landings.
    pub landings: u64,
}

impl Places {
    /// What becomes of slots there.
    #[must_use]
    pub const fn rules(&self) -> Rules {
        let mut rules = [None; KINDS];
        rules[APP as usize] = Some(Rule::signed(self.app, 0, 0));
        rules[LANDING as usize] = Some(Rule::signed(self.app, NEGATED, self.landings));
        rules[PREDICTION as usize] = Some(Rule::signed(self.app, NEGATED, 0));
        rules[HOT as usize] = Some(Rule::unsigned(self.hot));
        rules[CASE as usize] = Some(Rule::unsigned(self.hot));
        Rules(rules)
    }
}

/// What becomes of slots, by their kind ([`Places::rules`]). Kinds change from one slot to the next, so
/// that the processor would mostly be wrong about a branch for each: there is none.
#[derive(Clone, Copy, Debug)]
pub struct Rules([Option<Rule>; KINDS]);

/// `((base + (offset ^ sign)) ^ negated) - negated ^ flipped`
#[derive(Clone, Copy, Debug)]
struct Rule {
    base: u64,
    /// The offset's sign bit, if it is signed: `base` is less by as much.
    sign: u64,
    /// [`NEGATED`], or 0.
    negated: u64,
    flipped: u64,
}

/// All bits: a number is negated by flipping them and subtracting this.
const NEGATED: u64 = u64::MAX;

impl Rule {
    const fn signed(base: u64, negated: u64, flipped: u64) -> Self {
        const SIGN: u64 = 1 << 31;
        Self {
            base: base.wrapping_sub(SIGN),
            sign: SIGN,
            negated,
            flipped,
        }
    }

    const fn unsigned(base: u64) -> Self {
        Self {
            base,
            sign: 0,
            negated: 0,
            flipped: 0,
        }
    }
}

impl Rules {
    /// The value of a slot with `bits` in the file; `None` if more than places must be known.
    #[must_use]
    #[inline]
    pub fn rebase(&self, bits: u64) -> Option<u64> {
        let rule = self.0.get((bits >> 32) as usize)?.as_ref()?;
        let offset = u64::from(bits as u32);
        let sum = rule.base.wrapping_add(offset ^ rule.sign);
        Some((sum ^ rule.negated).wrapping_sub(rule.negated) ^ rule.flipped)
    }
}

/// Highest kind that [`Places::rules`] knows, and one.
const KINDS: usize = 9;
const APP: u64 = 1;
/// Of the bits of an address, 47 to 63 are the same, or 56 to 63: this has neither.
const COLD: u64 = 0x4000_0002;
const IMAGE_COUNTERS: u64 = 3;
const LANDING: u64 = 4;
const BUNDLES: u64 = 5;
const HOT: u64 = 6;
const PREDICTION: u64 = 7;
const CASE: u64 = 8;

impl SlotValue {
    /// The eight bytes in the file: the kind in the high half, the offset in the low.
    #[must_use]
    pub const fn encode(self) -> u64 {
        match self {
            Self::App(off) => (APP << 32) | off.0 as u32 as u64,
            Self::Landing(off) => (LANDING << 32) | off.0 as u32 as u64,
            Self::Cold(off) => (COLD << 32) | off as u64,
            Self::Prediction(off) => (PREDICTION << 32) | off.0 as u32 as u64,
            Self::Hot(off) => (HOT << 32) | off as u64,
            Self::Case(off) => (CASE << 32) | off as u64,
            Self::ImageCounters => IMAGE_COUNTERS << 32,
            Self::Bundles(count) => (BUNDLES << 32) | count as u64,
        }
    }

    /// The meaning of eight bytes, if they have one.
    #[must_use]
    pub const fn decode(bits: u64) -> Option<Self> {
        match (bits >> 32, bits as u32) {
            (APP, off) => Some(Self::App(ImageOff(off as i32))),
            (LANDING, off) => Some(Self::Landing(ImageOff(off as i32))),
            (COLD, off) => Some(Self::Cold(off)),
            (PREDICTION, off) => Some(Self::Prediction(ImageOff(off as i32))),
            (HOT, off) => Some(Self::Hot(off)),
            (CASE, off) => Some(Self::Case(off)),
            (IMAGE_COUNTERS, 0) => Some(Self::ImageCounters),
            (BUNDLES, count @ 1..=0xffff) => Some(Self::Bundles(count as u16)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places = Places {
        app: 0x7f00_0000_1000,
        hot: 0x6e00_0000_2000,
        landings: 0xffff_0000_1234_5678,
    };

    fn rebased(value: SlotValue) -> Option<u64> {
        PLACES.rules().rebase(value.encode())
    }

    #[test]
    fn what_depends_on_places_alone_is_rebased() {
        let offset = ImageOff(-0x40);
        let app = PLACES.app - 0x40;
        let negated = app.wrapping_neg();
        let expected = [
            (SlotValue::App(offset), app),
            (SlotValue::App(ImageOff(0x40)), PLACES.app + 0x40),
            (SlotValue::Landing(offset), negated ^ PLACES.landings),
            (SlotValue::Prediction(offset), negated),
            (SlotValue::Hot(0x50), PLACES.hot + 0x50),
            (SlotValue::Case(0xffff_ffff), PLACES.hot + 0xffff_ffff),
        ];
        for (value, at) in expected {
            assert_eq!(rebased(value), Some(at), "{value:?}");
        }
    }

    #[test]
    fn what_depends_on_more_is_not() {
        let others = [
            SlotValue::Cold(0x40),
            SlotValue::ImageCounters,
            SlotValue::Bundles(1),
        ];
        for value in others {
            assert_eq!(rebased(value), None, "{value:?}");
        }
        assert_eq!(PLACES.rules().rebase(0), None);
        assert_eq!(PLACES.rules().rebase(u64::MAX), None);
    }
}
