//! Places to translate.

use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_relocator::{Fragment, SlotInit};

/// A place to translate: where a fragment begins, and what it may assume there. In order of
/// places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// Place in the image.
    pub off: ImageOff,
    /// What is known on entry.
    pub context: Context,
}

impl Target {
    /// The place of `code` itself.
    #[must_use]
    pub const fn of(code: &Fragment) -> Self {
        Self {
            off: code.head,
            context: code.context,
        }
    }

    /// Where `code` leads: its direct exits, and the return points of its calls, whose
    /// addresses lie in slots.
    pub fn successors(code: &Fragment) -> impl Iterator<Item = Self> {
        let exits = code.exits.iter().map(|exit| Self {
            off: exit.target,
            context: exit.context,
        });
        let inside = code.head.0..code.head.0.saturating_add_unsigned(code.trace_len());
        let returns = code.slots.iter().filter_map(move |slot| match slot {
            // Returns that are paired come back into the trace.
            SlotInit::App(off) if !inside.contains(&off.0) => Some(Self {
                off: *off,
                context: Context::CANONICAL,
            }),
            _ => None,
        });
        exits.chain(returns)
    }
}
