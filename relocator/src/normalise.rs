//! The inverse of applying: forget where a fragment lay.

use crate::fragment::{Exit, Fragment, Reloc, Section};

/// Zeroes every field that depends on placement or on links, so that equal
/// translations are equal bytes wherever they ran.
pub fn normalise(fragment: &mut Fragment) {
    let Fragment {
        relocs,
        exits,
        hot,
        cold,
        ..
    } = fragment;
    normalise_parts(relocs, exits, hot, cold);
}

/// [`normalise()`] for sections that are kept apart from their fragment. Fields out
/// of bounds are left alone: [`crate::apply()`] reports them.
pub fn normalise_parts(relocs: &[Reloc], exits: &[Exit], hot: &mut [u8], cold: &mut [u8]) {
    for reloc in relocs {
        match reloc.section {
            Section::Hot => zero(hot, reloc.at),
            Section::Cold => zero(cold, reloc.at),
        }
    }
    for exit in exits {
        zero(hot, exit.branch);
    }
}

fn zero(bytes: &mut [u8], at: u32) {
    let at = at as usize;
    if let Some(field) = at.checked_add(4).and_then(|end| bytes.get_mut(at..end)) {
        field.fill(0);
    }
}
