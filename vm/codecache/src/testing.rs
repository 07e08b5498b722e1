//! What the tests of this crate share: memory that stands for the app's, fragments made by hand,
//! and where their exits lead.
//!
//! ```text
//! hot   8 bytes an exit:   nop nop nop  jmp rel32          the field at 4
//! ```

use crate::fresh::{Fresh, Kind};
use crate::{CodeCache, Full, Manner};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::record::stub;
use ppin_abi::spills::SpillSet;
use ppin_images::{ImageId, Region};
use ppin_indirect::{IblTable, Landing, Landings};
use ppin_os::file::Stat;
use ppin_os::maps::MapEntry;
use ppin_os::mem::{self, PAGE};
use ppin_os::peek;
use ppin_relocator::{Exit, Fragment, PcRow, Reloc, RelocKind, Section, SlotInit, pc_flag};

/// Memory that stands for the app's: code that it may write to.
pub(crate) struct App {
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// What the app may do with it, as far as is known. (The test may.)
    pub(crate) writable: bool,
}

impl App {
    pub(crate) fn new(pages: u64) -> Self {
        /// Each has more room than displacements reach.
        const APART: u64 = 1 << 33;
        static NEXT: AtomicU64 = AtomicU64::new(0x2000_0000_0000);
        // No handler of ours meets faults here.
        peek::never_fault();
        let (start, len) = (NEXT.fetch_add(APART, Ordering::Relaxed), pages * PAGE);
        mem::map_anon_at(start, len, mem::RWX).expect("nobody maps there");
        let app = Self {
            start,
            len,
            writable: true,
        };
        for at in (start..start + len).step_by(8) {
            app.write(at, &(at ^ 0x5a5a).to_le_bytes());
        }
        app
    }

    /// Stores there as it is: the page must not be held.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        assert!(self.start <= at && at + bytes.len() as u64 <= self.start + self.len);
        // SAFETY: memory of the test's own; a page that is held would fault.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    }

    pub(crate) fn read(&self, at: u64, len: u64) -> Vec<u8> {
        let mut bytes = alloc::vec![0; len as usize];
        assert_eq!(peek::read(at, &mut bytes), bytes.len());
        bytes
    }

    pub(crate) fn region(&self) -> MapEntry {
        MapEntry {
            start: self.start,
            end: self.start + self.len,
            path: "/test/app".into(),
            readable: true,
            writable: self.writable,
            executable: true,
            ..MapEntry::default()
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // SAFETY: nothing of the test uses it any more.
        let _ = unsafe { mem::unmap(self.start, self.len) };
    }
}

/// A file that there is not.
pub(crate) const FILE: Stat = Stat {
    dev: 1,
    ino: 2,
    mode: 0o100_755,
    uid: 0,
    size: 0x20_0000,
    mtime: (0, 0),
    ctime: (0, 0),
};

/// A code cache with one image.
pub(crate) struct World {
    pub(crate) code: CodeCache,
    pub(crate) app: App,
    pub(crate) image: ImageId,
}

impl CodeCache {
    /// Where indirect branches to app address `tag` go, if that is known.
    pub(crate) fn found(&self, tag: u64) -> Option<u64> {
        let found = self.ibl.entries().find(|(known, _)| *known == tag);
        found.map(|(_, target)| target)
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(8, 64 << 20)
    }

    /// With so many pages of app code, and so much room.
    pub(crate) fn with(pages: u64, limit: u64) -> Self {
        Self::of(App::new(pages), limit)
    }

    /// With this app code.
    pub(crate) fn of(app: App, limit: u64) -> Self {
        let table = Box::leak(Box::new(AtomicU64::new(0)));
        let landings = [const { Landing::free() }; 64];
        let landings = Landings::new(Box::leak(Box::new(landings)), 0x7000_0000);
        let table = IblTable::new(table, landings);
        let mut code = CodeCache::new(limit, table);
        let image = add(&mut code, &app);
        Self { code, app, image }
    }

    pub(crate) fn pc(&self, offset: u64) -> AppPc {
        AppPc(self.app.start + offset)
    }

    pub(crate) fn region(&self) -> Region {
        let region = self.code.images.region(self.pc(0));
        region.expect("the app's memory is known")
    }

    /// Installs a trace of `len` bytes at `offset`, with exits to `exits`.
    pub(crate) fn trace(&mut self, offset: u64, len: u64, exits: &[u64]) -> CachePc {
        let fragment = fragment(offset, len, exits, Context::CANONICAL);
        self.install(fragment, Kind::Trace).expect("there is room")
    }

    pub(crate) fn install(&mut self, fragment: Fragment, kind: Kind) -> Result<CachePc, Full> {
        let pc = self.pc(fragment.head.0 as u64);
        let source = self.app.read(pc.0, u64::from(fragment.source_len));
        let manner = Manner::default();
        let room = self.code.make_room(self.image, &fragment, manner)?;
        let at = (self.image, pc);
        let id = self.code.install(room, at, fragment, &source, kind);
        Ok(self.code.fragment(id).entry())
    }

    pub(crate) fn fresh(&self, entry: CachePc) -> &Fresh {
        self.code.fragment_at(entry.0).expect("installed")
    }

    /// Links exit `n` of the fragment at `from`.
    pub(crate) fn link(&mut self, from: CachePc, n: u32, to: CachePc) {
        let exit = self.code.exit_at(stub_of(self.fresh(from), n));
        self.code.link(&exit.expect("it has one"), to);
    }

    /// Where exit `n` of the fragment at `from` leads; `None`: to the VM.
    pub(crate) fn leads(&self, from: CachePc, n: u32) -> Option<u64> {
        leads(self.fresh(from), n)
    }

    /// Sees to it that the page of `offset` is guarded, as before translating.
    pub(crate) fn watch(&mut self, offset: u64, len: u64) {
        let (region, pc) = (self.region(), self.pc(offset));
        self.code.watch(&region, pc.0, len, false);
    }

    /// The app stores to `offset`: what the fault handler does, then the store.
    pub(crate) fn store(&mut self, offset: u64, byte: u8) {
        let at = self.pc(offset).0;
        if self.code.guards.holds(mem::page_down(at)) {
            let (ours, _) = self.code.store(at, 0);
            assert!(ours, "a guard was met");
        }
        self.app.write(at, &[byte]);
    }
}

/// Makes the app's memory known, all of it.
pub(crate) fn add(code: &mut CodeCache, app: &App) -> ImageId {
    let entry = app.region();
    let named = code.images.name(&entry, Some(&FILE), false);
    code.images.add(&entry, Some(FILE), named)
}

/// A fragment made from `len` bytes at `offset`, with exits to the offsets `exits`.
pub(crate) fn fragment(offset: u64, len: u64, exits: &[u64], context: Context) -> Fragment {
    let mut fragment = Fragment {
        head: ImageOff(offset as i32),
        context,
        source_len: len as u32,
        instructions: 1,
        shape: ppin_relocator::Shape::STRAIGHT,
        hot: alloc::vec![0x90; 8],
        pc_map: rows().into_iter().collect(),
        ..Fragment::default()
    };
    for target in exits {
        add_exit(&mut fragment, ImageOff(*target as i32));
    }
    fragment
}

/// A fragment made from 8 bytes at `offset`, whose jump goes through a cell.
pub(crate) fn through_a_cell(offset: u64) -> Fragment {
    let mut fragment = fragment(offset, 8, &[], Context::CANONICAL);
    let [code, field] = [[0x90; 2].as_slice(), &[0xff, 0x25, 0, 0, 0, 0]];
    fragment.hot = [code, field, &[0x90; 16]].concat();
    fragment.slots = alloc::vec![SlotInit::Prediction(fragment.head), SlotInit::Entry];
    fragment.relocs.push(Reloc {
        section: Section::Hot,
        at: 4,
        pc_bias: 4,
        kind: RelocKind::Slot(1),
    });
    fragment
}

/// A fragment made from 8 bytes at 0, whose jump goes through the cell at `cell`, which does not change.
pub(crate) fn through_a_sealed_cell(cell: ImageOff) -> Fragment {
    let mut fragment = fragment(0, 8, &[], Context::CANONICAL);
    let [jump, load] = [
        [0xff, 0x25, 0, 0, 0, 0].as_slice(),
        &[0x48, 0x8d, 0x05, 0, 0, 0, 0],
    ];
    fragment.hot = [&[0x90; 2], jump, &[0x90; 8], load, &[0x90; 15]].concat();
    fragment.slots = alloc::vec![SlotInit::Behind(8), SlotInit::App(cell)];
    fragment.relocs.extend([4, 19].map(|at| Reloc {
        section: Section::Hot,
        at,
        pc_bias: 4,
        kind: RelocKind::Slot(0),
    }));
    fragment
}

/// The same, entered by calls, where the jump comes first.
pub(crate) fn passes_on(cell: ImageOff) -> Fragment {
    let mut fragment = through_a_sealed_cell(cell);
    fragment.context = Context::CALLED;
    fragment.hot.drain(..2);
    fragment.slots[0] = SlotInit::Behind(6);
    fragment.relocs.iter_mut().for_each(|reloc| reloc.at -= 2);
    fragment
}

/// A fragment made from 8 bytes at 0, which ends with `jump` by a table of `count` entries of so many `bytes`.
pub(crate) fn by_cases(table: ImageOff, count: u16, bytes: u8, jump: [u8; 2]) -> Fragment {
    let mut fragment = fragment(0, 8, &[], Context::CANONICAL);
    let held = None;
    let what = ppin_abi::predicted::Table { count, bytes, held };
    let what = what.encode().to_le_bytes();
    let [load, here] = [
        [0x48, 0x8b, 0x05, 0, 0, 0, 0],
        [0x48, 0x8d, 0x05, 0, 0, 0, 0],
    ];
    fragment.hot = [
        &[0x90; 2],
        jump.as_slice(),
        &[0xb8],
        &what,
        &load,
        &here,
        &[0x90; 7],
    ]
    .concat();
    fragment.slots = alloc::vec![SlotInit::App(table)];
    let cases = core::iter::repeat_n(SlotInit::Case(4), count.into());
    fragment.slots.extend(cases);
    fragment.relocs.push(Reloc {
        section: Section::Hot,
        at: 12,
        pc_bias: 4,
        kind: RelocKind::Slot(0),
    });
    fragment
}

/// Where such a fragment, which is entered at `entry`, leaves if it is not known where a case leads.
pub(crate) fn left_by_cases_at(entry: CachePc) -> u64 {
    entry.0 + 23
}

/// A fragment made from 8 bytes at `offset`, at which threads arrive by indirect branches; `fills` is the last before
/// it is entered.
pub(crate) fn arrived_at(offset: u64, fills: &[u8]) -> Fragment {
    let mut fragment = fragment(offset, 8, &[], Context::CANONICAL);
    let before = [&[0x90; 25], fills].concat();
    fragment.entry = before.len() as u8;
    fragment.hot = [before.as_slice(), &[0x90; 8]].concat();
    fragment
}

/// Where such a fragment, which is entered at `entry`, leaves if it is not known where its cell leads.
pub(crate) fn left_sealed_at(entry: CachePc) -> u64 {
    entry.0 + 30
}

/// Where such a fragment, which is entered at `entry`, leaves if the cell holds what was not predicted.
pub(crate) fn left_at(entry: CachePc) -> u64 {
    entry.0 + 2 + ppin_abi::predicted::CODE
}

/// A trap at `offset`.
pub(crate) fn trap(offset: u64, byte: u8) -> Fragment {
    let mut fragment = fragment(offset, 1, &[], Context::CANONICAL);
    (fragment.instructions, fragment.hot[0]) = (0, byte);
    fragment
}

fn rows() -> [PcRow; 3] {
    let row = |hot, app, spilled, flags| PcRow {
        hot,
        app,
        spilled,
        flags,
    };
    [
        row(0, 0, SpillSet::NONE, pc_flag::BOUNDARY | pc_flag::BLOCK),
        row(2, 0, SpillSet::at_home(3), pc_flag::INSTRUCTION),
        row(4, 1, SpillSet::NONE, pc_flag::BOUNDARY),
    ]
}

fn add_exit(fragment: &mut Fragment, target: ImageOff) {
    let n = fragment.exits.len() as u32;
    fragment.hot.truncate(8 * n as usize);
    fragment.hot.extend([0x90, 0x90, 0x90, 0xe9, 0, 0, 0, 0]);
    fragment.exits.push(Exit {
        target,
        context: fragment.context,
        branch: 8 * n + 4,
    });
}

/// Address of the stub of exit `n`.
pub(crate) fn stub_of(fresh: &Fresh, n: u32) -> u64 {
    fresh.space().stubs + u64::from(stub::at(n as usize))
}

/// What exit `n`'s branch leads to, and its slot.
pub(crate) fn fields(fresh: &Fresh, n: u32) -> (u64, u64) {
    let field = fresh.entry().0 + u64::from(8 * n + 4);
    let slot = fresh.space().slots + u64::from(8 * n);
    // SAFETY: fields of a fragment that is mapped.
    let (distance, slot) = unsafe { ((field as *const i32).read(), (slot as *const u64).read()) };
    ((field + 4).wrapping_add_signed(i64::from(distance)), slot)
}

/// Where exit `n` leads; `None`: to the VM.
pub(crate) fn leads(fresh: &Fresh, n: u32) -> Option<u64> {
    let (branch, slot) = fields(fresh, n);
    let stub = stub_of(fresh, n);
    let linked = slot != stub + u64::from(stub::LEAVE);
    if branch == stub {
        return linked.then_some(slot);
    }
    assert_eq!((linked, slot), (true, branch), "branch and slot agree");
    Some(branch)
}
