//! The order of the runtime's functions and variables: what a warm start runs or writes stands
//! together, since each start pays for the pages that it touches.
//!
//! Names of functions end with a hash that depends on the compiler. So the runtime is linked
//! twice: the first ELF tells what the functions of the list are called. Only lld takes an order;
//! with other linkers starts are slower.

use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;

/// The functions, in order, without their hashes.
const LIST: &str = include_str!("../../vm/runtime/order.txt");

/// Variables of at most this size go before buffers and tables.
const SMALL: u64 = 2048;

/// What comes next: ends of names, without hashes. Starts write to the beginning of the tables, the first of
/// which begins in the page where the small variables end; the boot stack, which grows down, comes last: its
/// top is in the page where the boot block begins.
const LARGE: [&str; 3] = ["gate5table4SLOW", "landings8LANDINGS", "copied4MARK"];

/// The symbols of `elf` in the order that lld is to give them. `None`: it was not linked by lld.
pub fn of(elf: &[u8]) -> Option<String> {
    if !is_by_lld(elf) {
        return None;
    }
    let elf = object::File::parse(elf).ok()?;
    let zeros = elf.section_by_name(".bss").map(|section| section.index());
    let is_small = |symbol: &object::Symbol| {
        symbol.section_index() == zeros && (1..=SMALL).contains(&symbol.size())
    };
    let symbols = || {
        elf.symbols()
            .filter(|symbol| symbol.section_index().is_some())
    };
    let small = symbols().filter(is_small);
    let mut small: Vec<_> = small.filter_map(|symbol| symbol.name().ok()).collect();
    small.sort_unstable();
    let mut names = listed(symbols().filter_map(|symbol| symbol.name().ok()));
    names.extend(small);
    for large in LARGE {
        let all = symbols().filter_map(|symbol| symbol.name().ok());
        names.extend(all.filter(|name| without_hash(name).ends_with(large)));
    }
    Some(names.join("\n") + "\n")
}

/// Whether lld has linked `elf`.
pub fn is_by_lld(elf: &[u8]) -> bool {
    let comment = || {
        let elf = object::File::parse(elf).ok()?;
        let words = elf.section_by_name(".comment")?.data().ok()?;
        Some(words.windows(3).any(|word| word == b"LLD"))
    };
    comment().unwrap_or(false)
}

/// Those of `names` that are in the list, in the list's order.
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut called = BTreeMap::<&str, Vec<&str>>::new();
    for name in names {
        called.entry(without_hash(name)).or_default().push(name);
    }
    let mut ordered = Vec::new();
    for line in LIST.lines() {
        let mut same = called.remove(line).unwrap_or_default();
        same.sort_unstable();
        ordered.extend(same);
    }
    ordered
}

/// `name` without `17h`, sixteen digits and `E`, and without the number that links across crates may add.
fn without_hash(name: &str) -> &str {
    let is_number = |end: &str| end.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = name.rsplit_once('.').filter(|(_, end)| is_number(end));
    let name = numbered.map_or(name, |(name, _)| name);
    const LENGTH: usize = "17h0123456789abcdefE".len();
    let split = name.split_at_checked(name.len().saturating_sub(LENGTH));
    match split {
        Some((rest, hash)) if hash.starts_with("17h") && hash.ends_with('E') => rest,
        _ => name,
    }
}
