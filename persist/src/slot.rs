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
    /// The value of a slot with `bits` in the file; `None` if more must be known.
    #[must_use]
    #[inline]
    pub const fn rebase(&self, bits: u64) -> Option<u64> {
        let off = bits as u32;
        let app = self.app.wrapping_add(off as i32 as i64 as u64);
        match bits >> 32 {
            APP => Some(app),
            LANDING => Some(app.wrapping_neg() ^ self.landings),
            PREDICTION => Some(app.wrapping_neg()),
            HOT | CASE => Some(self.hot.wrapping_add(off as u64)),
            _ => None,
        }
    }
}

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
