//! A mapped unit against the app's memory, under sequences of what threads, the app and the
//! kernel do: persisted code runs only while its source is what it was made from.

use super::shelf::{LARGE, Shelf};
use super::tests::INT3;
use crate::testing::{FILE, fragment, leads};
use alloc::vec::Vec;
use ppin_abi::addr::CachePc;
use ppin_abi::context::Context;
use ppin_os::mem::PAGE;
use ppin_persist::unit_flag;
use proptest::collection;
use proptest::prelude::*;

/// Fragments of the unit, each in a group and a page of its own, but two that share both.
const PLACES: [u64; 5] = [0, 0x40, PAGE, 2 * PAGE, 3 * PAGE];

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    /// A translation is sought.
    Find(usize),
    /// A thread follows a link of the file there.
    Follow(usize),
    /// Fresh code is linked there.
    LinkIn(usize),
    /// Code of the unit is linked to fresh code.
    LinkOut(usize),
    /// The kernel writes there for the app: this, or what was there at first.
    Write(usize, Option<u8>),
    /// The app protects the page anew, to write to it or not.
    Protect(usize, bool),
    /// All fresh code goes.
    Flush,
}

fn event() -> impl Strategy<Value = Event> {
    let place = || 0..PLACES.len();
    let byte = prop_oneof![1 => any::<u8>().prop_map(Some), 1 => Just(None)];
    prop_oneof![
        4 => place().prop_map(Event::Find),
        3 => place().prop_map(Event::Follow),
        3 => place().prop_map(Event::LinkIn),
        2 => place().prop_map(Event::LinkOut),
        2 => (place(), byte).prop_map(|(n, byte)| Event::Write(n, byte)),
        2 => (place(), any::<bool>()).prop_map(|(n, writable)| Event::Protect(n, writable)),
        1 => Just(Event::Flush),
    ]
}

struct Model {
    shelf: Shelf,
    /// Fresh code that may be linked to each place.
    callers: Vec<(usize, CachePc)>,
    first: Vec<u8>,
}

impl Model {
    fn new() -> Self {
        let of_place = |n: usize| {
            let next = PLACES[(n + 1) % PLACES.len()];
            let mut code = fragment(PLACES[n], 8, &[next], Context::CANONICAL);
            if n > 1 {
                code.hot.resize(LARGE, 0x90);
            }
            (code, unit_flag::INDIRECT_TARGET)
        };
        let pieces: Vec<_> = (0..PLACES.len()).map(of_place).collect();
        let mut shelf = Shelf::holding(&pieces);
        // Maps the unit.
        assert_eq!(shelf.find(0x800), None);
        let app = &shelf.world.app;
        let first = app.read(app.start, app.len);
        Self {
            shelf,
            callers: Vec::new(),
            first,
        }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Find(n) => {
                self.shelf.find(PLACES[n]);
            }
            Event::Follow(n) => {
                let entry = self.shelf.entry(PLACES[n]);
                if !self.shelf.world.code.admit(entry.0) {
                    let (pc, _) = self.shelf.world.code.entry_of_refused(entry.0);
                    assert_eq!(pc, self.shelf.world.pc(PLACES[n]));
                }
            }
            Event::LinkIn(n) => {
                if let Some(entry) = self.shelf.find(PLACES[n]) {
                    let caller = self.shelf.world.trace(0x1800, 8, &[PLACES[n]]);
                    self.shelf.world.link(caller, 0, entry);
                    self.callers.push((n, caller));
                }
            }
            Event::LinkOut(n) => self.link_out(n),
            Event::Write(n, byte) => self.write(n, byte),
            Event::Protect(n, writable) => self.protect(n, writable),
            Event::Flush => {
                self.shelf.world.code.flush();
                self.callers.clear();
            }
        }
    }

    /// Where the file's link has been taken back, the exit is linked to fresh code.
    fn link_out(&mut self, n: usize) {
        let entry = self.shelf.entry(PLACES[n]);
        let runs = self.shelf.world.code.running_maps(entry.0).is_some();
        if runs && self.shelf.exit(PLACES[n]).is_some() {
            let next = PLACES[(n + 1) % PLACES.len()];
            let fresh = self.shelf.world.trace(next, 8, &[]);
            self.shelf.link(PLACES[n], fresh);
        }
    }

    fn write(&mut self, n: usize, byte: Option<u8>) {
        let at = self.shelf.world.pc(PLACES[n]).0;
        let bytes = match byte {
            Some(byte) => alloc::vec![byte; 8],
            None => self.first[PLACES[n] as usize..][..8].to_vec(),
        };
        self.shelf.world.code.give_back(at, at + 8);
        self.shelf.world.app.write(at, &bytes);
        self.shelf.world.code.written(at, at + 8);
    }

    fn protect(&mut self, n: usize, writable: bool) {
        let page = PLACES[n] & !(PAGE - 1);
        let mut entry = self.shelf.world.app.region();
        (entry.offset, entry.start) = (page, entry.start + page);
        (entry.end, entry.writable) = (entry.start + PAGE, writable);
        let code = &mut self.shelf.world.code;
        code.protected(entry.start, entry.end);
        let named = code.images.name(&entry, Some(&FILE), false);
        code.images.add(&entry, Some(FILE), named);
    }

    /// Whether the code of place `n` may run, as the cache has it.
    fn runs(&self, n: usize) -> bool {
        let entry = self.shelf.entry(PLACES[n]);
        self.shelf.world.code.running_maps(entry.0).is_some()
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let world = &self.shelf.world;
        for (n, offset) in PLACES.into_iter().enumerate() {
            let (pc, at) = (world.pc(offset).0, offset as usize);
            let entry = self.shelf.entry(offset);
            if self.runs(n) {
                prop_assert_eq!(&world.app.read(pc, 8), &self.first[at..at + 8]);
                prop_assert!(!world.code.images.may_change(pc, pc + 8));
            } else if self.shelf.units()[0].is_killed(entry.0) {
                prop_assert_eq!(self.shelf.byte(entry), INT3);
            }
            if let Some(target) = world.code.found(pc) {
                prop_assert!(self.runs(n) && target == entry.0);
            }
            if self.shelf.exit(offset).is_none() {
                continue;
            }
            let slot = self.shelf.slot(offset);
            if let Some(fresh) = world.code.fragment_at(slot) {
                prop_assert!(fresh.is_in_use() && fresh.entry().0 == slot);
            } else {
                let retired = world.code.in_cache(slot) && !world.code.in_units(slot);
                prop_assert!(!retired, "a slot leads to code that was flushed");
            }
        }
        for (n, caller) in &self.callers {
            if let Some(target) = leads(world.fresh(*caller), 0) {
                prop_assert!(self.runs(*n));
                prop_assert_eq!(target, self.shelf.entry(PLACES[*n]).0);
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn kept_code_runs_only_while_its_source_is_what_it_was_made_from(
        events in collection::vec(event(), 1..60),
    ) {
        let mut model = Model::new();
        for event in &events {
            model.happen(event);
            model.check()?;
        }
    }
}
