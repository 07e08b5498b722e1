//! A code cache against a model, under sequences of what threads, the app and the kernel do.
//!
//! The model is the app's memory itself: whatever is found by an address, in the table of
//! indirect branches or behind a linked exit must be in use, and made from the bytes that lie
//! there now. (Volatile code compares itself, so only its links are looked at.)

use crate::fresh::{FragmentId, Kind};
use crate::testing::{FILE, World, fields, fragment, leads, stub_of};
use alloc::{vec, vec::Vec};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_os::mem::{PAGE, page_down};
use ppin_persist::source_hash;
use proptest::collection;
use proptest::prelude::*;

const PAGES: u64 = 4;
/// Places of code: some begin a page, some lie across its end.
const PLACES: [u64; 12] = [
    0, 0x40, 0x48, 0xff8, 0x1000, 0x1040, 0x1ff4, 0x2000, 0x2100, 0x2ff0, 0x3000, 0x3100,
];
/// Bytes of a trace, if nothing ends it.
const LEN: u64 = 16;
/// Little enough that the cache is full now and then.
const LIMIT: u64 = 16 * PAGE;

/// Where the exits of the trace at place `n` lead: to places.
fn exits(n: usize) -> [u64; 2] {
    [
        PLACES[(n + 1) % PLACES.len()],
        PLACES[(5 * n + 2) % PLACES.len()],
    ]
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    /// A thread comes to a place.
    Run(usize),
    /// A thread leaves the code of a place by one of its exits.
    Leave(usize, u32),
    /// A thread comes to a place by an indirect branch.
    Indirect(usize),
    /// The app stores a byte near a place.
    Store(usize, u64, u8),
    /// The app puts back what was there at first.
    PutBack(usize),
    /// The kernel writes to a place for the app.
    KernelWrites(usize, u8),
    /// The app protects the page of a place anew.
    Protect(usize),
    /// The app maps other code over the page of a place.
    Replace(usize, u8),
    /// Every guard is lifted.
    ReleaseAll,
    /// All fresh code goes.
    Flush,
    /// Every thread has come by since the last flush but so many.
    Reclaim(u64),
    /// The process forks.
    Fork,
    /// Who held the lock was killed.
    StartOver,
}

fn event() -> impl Strategy<Value = Event> {
    let place = || 0..PLACES.len();
    prop_oneof![
        20 => place().prop_map(Event::Run),
        20 => (place(), 0..2u32).prop_map(|(n, exit)| Event::Leave(n, exit)),
        10 => place().prop_map(Event::Indirect),
        8 => (place(), 0..24u64, any::<u8>()).prop_map(|(n, at, byte)| Event::Store(n, at, byte)),
        6 => place().prop_map(Event::PutBack),
        2 => (place(), any::<u8>()).prop_map(|(n, byte)| Event::KernelWrites(n, byte)),
        2 => place().prop_map(Event::Protect),
        2 => (place(), any::<u8>()).prop_map(|(n, byte)| Event::Replace(n, byte)),
        1 => Just(Event::ReleaseAll),
        1 => Just(Event::Flush),
        2 => (0..2u64).prop_map(Event::Reclaim),
        1 => Just(Event::Fork),
        1 => Just(Event::StartOver),
    ]
}

/// A world, and what its memory held at first.
struct Model {
    world: World,
    first: Vec<u8>,
    /// Every entry that was ever given out, until its memory is given back.
    entries: Vec<(usize, CachePc)>,
}

impl Model {
    fn new() -> Self {
        let world = World::with(PAGES, LIMIT);
        let first = world.app.read(world.app.start, world.app.len);
        Self {
            world,
            first,
            entries: Vec::new(),
        }
    }

    fn pc(&self, n: usize) -> AppPc {
        self.world.pc(PLACES[n])
    }

    /// What is assumed of code at place `n` now.
    fn context(&self, n: usize) -> Context {
        let (guards, pc) = (&self.world.code.guards, self.pc(n).0);
        match guards.is_volatile(pc) {
            true => guards.assumed(pc, false),
            false => Context::CANONICAL,
        }
    }

    /// As the VM seeks a translation: known, asleep, or made now.
    fn lookup(&mut self, n: usize) -> CachePc {
        let pc = self.pc(n);
        self.world.code.come_back(pc.0);
        let context = self.context(n);
        if let Some(id) = self.world.code.known(pc, context) {
            if !context.contains(Context::VOLATILE) || self.is_true(id) {
                return self.world.code.fragment(id).entry();
            }
            self.world.code.discard(id);
        }
        let dormant = self.world.code.dormant(pc, context);
        if let Some(id) = dormant.filter(|id| self.may_wake(n, *id, context)) {
            self.world.code.wake(id);
            return self.world.code.fragment(id).entry();
        }
        self.translate(n)
    }

    fn may_wake(&mut self, n: usize, id: FragmentId, context: Context) -> bool {
        let (pc, len) = (self.pc(n).0, self.len_of(id));
        if !context.contains(Context::VOLATILE) {
            self.world.watch(PLACES[n], len);
            let guards = &self.world.code.guards;
            if guards.is_volatile(pc) || guards.steady(pc, len) != len {
                return false;
            }
        }
        self.is_true(id)
    }

    fn translate(&mut self, n: usize) -> CachePc {
        let pc = self.pc(n);
        self.world.watch(PLACES[n], LEN);
        let context = self.context(n);
        let len = match context.contains(Context::VOLATILE) {
            true => LEN,
            false => self.world.code.guards.steady(pc.0, LEN),
        };
        let mut code = fragment(PLACES[n], len, &exits(n), context);
        code.hot.resize(1024, 0x90);
        let entry = match self.world.install(code.clone(), Kind::Trace) {
            Ok(entry) => entry,
            Err(_) => {
                self.world.code.flush();
                let again = self.world.install(code, Kind::Trace);
                again.expect("there is room after a flush")
            }
        };
        self.entries.push((n, entry));
        entry
    }

    fn len_of(&self, id: FragmentId) -> u64 {
        u64::from(self.world.code.fragment(id).code().source_len)
    }

    /// Whether a fragment's source is what it was made from.
    fn is_true(&self, id: FragmentId) -> bool {
        let fresh = self.world.code.fragment(id);
        let source = self.world.app.read(fresh.pc().0, self.len_of(id));
        source_hash(&source) == fresh.source_hash()
    }

    /// The app stores; what it stores to is not held any more then.
    fn store(&mut self, offset: u64, byte: u8) {
        if offset < PAGES * PAGE {
            self.world.store(offset, byte);
        }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Run(n) => {
                self.lookup(n);
            }
            Event::Leave(n, exit) => self.leave(n, exit),
            Event::Indirect(n) => {
                let entry = self.lookup(n);
                if self.may_link(entry) {
                    self.world.code.link_indirect(self.pc(n), entry);
                }
            }
            Event::Store(n, at, byte) => self.store(PLACES[n] + at, byte),
            Event::PutBack(n) => {
                for at in PLACES[n]..PLACES[n] + LEN {
                    self.store(at, self.first[at as usize]);
                }
            }
            Event::KernelWrites(n, byte) => {
                let at = self.pc(n).0;
                self.world.code.give_back(at, at + 8);
                self.world.app.write(at, &[byte; 8]);
                self.world.code.written(at, at + 8);
            }
            Event::Protect(n) => {
                let page = page_down(self.pc(n).0);
                self.world.code.unguard(page, page + PAGE);
            }
            Event::Replace(n, byte) => self.replace(n, byte),
            Event::ReleaseAll => {
                self.world.code.release_all();
            }
            Event::Flush => self.world.code.flush(),
            Event::Reclaim(behind) => {
                let epoch = self.world.code.epoch();
                self.world.code.reclaim(epoch.saturating_sub(behind), &[]);
            }
            Event::Fork => self.world.code.seal(),
            Event::StartOver => self.world.code.start_over(),
        }
        let code = &self.world.code;
        self.entries.retain(|(_, entry)| code.in_cache(entry.0));
    }

    /// A thread in the newest code of place `n`, in use or not, comes to an exit that is not
    /// linked, or was not a moment ago.
    fn leave(&mut self, n: usize, exit: u32) {
        let of_place = |(place, _): &&(usize, CachePc)| *place == n;
        let Some((_, from)) = self.entries.iter().rfind(of_place).copied() else {
            return;
        };
        let to = exits(n)[exit as usize];
        let to = PLACES.iter().position(|place| *place == to);
        let entry = self.lookup(to.expect("exits lead to places"));
        if self.may_link(entry)
            && let Some(fresh) = self.world.code.fragment_at(from.0)
        {
            let exit = self.world.code.exit_at(stub_of(fresh, exit));
            self.world.code.link(&exit.expect("it has two"), entry);
        }
    }

    fn may_link(&self, entry: CachePc) -> bool {
        self.world.fresh(entry).may_be_linked_at(entry)
    }

    /// Other code is mapped in place of a page. (That no image goes: the rest of it stays.)
    fn replace(&mut self, n: usize, byte: u8) {
        let page = page_down(self.pc(n).0);
        self.world.code.gone(page, page + PAGE);
        for at in (page..page + PAGE).step_by(8) {
            self.world.app.write(at, &[byte; 8]);
        }
        let mut entry = self.world.app.region();
        (entry.offset, entry.start) = (page - entry.start, page);
        entry.end = page + PAGE;
        let named = self.world.code.images.name(&entry, Some(&FILE), false);
        self.world.code.images.add(&entry, Some(FILE), named);
    }

    /// Whether control may go to `entry` for app address `pc`.
    fn check(&self, pc: AppPc, entry: u64) -> Result<(), TestCaseError> {
        let id = self.world.code.fresh_at(entry);
        prop_assert!(id.is_some(), "{entry:#x} is not in the cache");
        let id = id.expect("just looked at");
        let fresh = self.world.code.fragment(id);
        prop_assert_eq!((fresh.entry().0, fresh.pc()), (entry, pc));
        prop_assert!(fresh.is_in_use(), "{:?} is out of use", pc);
        let volatile = fresh.context().contains(Context::VOLATILE);
        prop_assert!(volatile || self.is_true(id), "{:?} is stale", pc);
        prop_assert!(self.world.code.running_maps(entry).is_some());
        Ok(())
    }

    /// That nothing leads astray.
    fn check_all(&self) -> Result<(), TestCaseError> {
        let code = &self.world.code;
        for n in 0..PLACES.len() {
            for context in [Context::CANONICAL, self.context(n)] {
                if let Some(id) = code.known(self.pc(n), context) {
                    self.check(self.pc(n), code.fragment(id).entry().0)?;
                }
            }
        }
        for (tag, target) in code.ibl.entries() {
            self.check(AppPc(tag), target)?;
        }
        for (n, entry) in &self.entries {
            match code.fragment_at(entry.0) {
                Some(fresh) => {
                    for (exit, to) in (0..).zip(exits(*n)) {
                        if let Some(target) = leads(fresh, exit) {
                            self.check(self.world.pc(to), target)?;
                        }
                    }
                }
                // Retired: who is still in it leaves by the next exit.
                None => prop_assert_eq!(code.hot_of(entry.0), Some(entry.0)),
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_leads_to_stale_or_freed_code(events in collection::vec(event(), 1..120)) {
        let mut model = Model::new();
        for event in &events {
            model.happen(event);
            model.check_all()?;
        }
    }

    #[test]
    fn all_links_can_be_taken_back(events in collection::vec(event(), 1..60)) {
        let mut model = Model::new();
        for event in &events {
            model.happen(event);
        }
        let app = &model.world.app;
        let (start, end) = (app.start, app.start + app.len);
        model.world.code.unguard(start, end);
        prop_assert!(model.world.code.ibl.entries().next().is_none());
        for (_, entry) in &model.entries {
            if let Some(fresh) = model.world.code.fragment_at(entry.0) {
                let stubs = [0u32, 1].map(|exit| stub_of(fresh, exit));
                let found = [0u32, 1].map(|exit| fields(fresh, exit));
                prop_assert_eq!(found, stubs.map(|stub| (stub, stub + 6)));
            }
        }
    }
}
