//! Parts of the build script that are functions of their input.

#[path = "../build/order.rs"]
mod order;
#[path = "../build/strip.rs"]
mod strip;
#[path = "../build/watch.rs"]
#[allow(dead_code, reason = "the rest talks to cargo")]
mod watch;

use object::{Object, ObjectSegment, ObjectSymbol};
use std::fs;
use std::path::PathBuf;

/// Our own executable has segments, and sections behind them.
#[test]
fn what_is_mapped_stays_and_nothing_else() {
    let whole = fs::read("/proc/self/exe").unwrap();
    let mapped = strip::mapped_part(&whole).unwrap();
    assert!(mapped.len() < whole.len());
    let (whole, mapped) = (
        object::File::parse(&*whole).unwrap(),
        object::File::parse(&*mapped).unwrap(),
    );
    assert_eq!(mapped.sections().count(), 0);
    assert_eq!(mapped.entry(), whole.entry());
    let mut pairs = whole.segments().zip(mapped.segments());
    assert!(pairs.all(|(whole, mapped)| {
        // The first holds the header, which has changed.
        whole.file_range().0 == 0 || whole.data().unwrap() == mapped.data().unwrap()
    }));
    assert_eq!(whole.segments().count(), mapped.segments().count());
}

#[test]
fn what_is_no_elf_file_is_not_cut() {
    assert_eq!(strip::mapped_part(b"\x7fELF"), None);
    assert_eq!(strip::mapped_part(&[0; 4096]), None);
}

#[test]
fn sources_may_have_spaces_in_their_names() {
    let rule = "/t/ppin-runtime: /a/b.rs /with\\ a/space.rs /c/d.rs\n";
    let want = ["/a/b.rs", "/with a/space.rs", "/c/d.rs"].map(PathBuf::from);
    assert_eq!(watch::sources(rule), want);
}

#[test]
fn listed_functions_are_ordered_by_whatever_hash_they_have() {
    let start = "_ZN11ppin_inject4load5start17h0123456789abcdefE";
    let moved = "_ZN11ppin_inject4load8relocate17hfedcba9876543210E";
    let names = [
        moved,
        "_ZN3not6listed17h0123456789abcdefE",
        start,
        "runtime_start",
    ];
    let want = ["runtime_start", start, moved];
    assert_eq!(order::listed(names.into_iter()), want);
}

#[test]
fn an_order_names_symbols_of_the_file() {
    let own = fs::read("/proc/self/exe").unwrap();
    let elf = object::File::parse(&*own).unwrap();
    let symbols: Vec<_> = elf.symbols().filter_map(|it| it.name().ok()).collect();
    // Without lld there is none.
    let order = order::of(&own).unwrap_or_default();
    assert!(order.lines().all(|name| symbols.contains(&name)));
    assert_eq!(order::of(b"\x7fELF"), None);
}
