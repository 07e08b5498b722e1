//! A loaded tool's description, as the API has it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_api::compiler::OPCODE_NAMES;
use ppin_api::{About, Knob};
use ppin_plugin::{Card, KnobCard, door};

/// The hash of ppin's own opcodes, for [`Card::read`].
#[must_use]
pub const fn opcodes() -> u64 {
    const { door::hash(OPCODE_NAMES.as_bytes()) }
}

/// The description on `card`, for good: a tool lives as long as its process.
pub fn about(card: Card) -> &'static About {
    let knobs: Vec<Knob> = card.knobs.into_iter().map(knob).collect();
    Box::leak(Box::new(About {
        name: kept(card.name),
        summary: kept(card.summary),
        knobs: knobs.leak(),
    }))
}

fn knob(card: KnobCard) -> Knob {
    Knob {
        name: kept(card.name),
        default: kept(card.default),
        help: kept(card.help),
        changes_code: card.changes_code,
        writes_file: card.writes_file,
    }
}

fn kept(text: String) -> &'static str {
    String::leak(text)
}
