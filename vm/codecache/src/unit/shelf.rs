//! For tests: a code cache with a database, and units frozen from fragments made by hand, mapped for
//! memory of the test's own.

use super::bound::Given;
use super::{Bound, Databases, Library};
use crate::testing::{App, World, fragment};
use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, CachePc, ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::stub;
use ppin_persist::paths::{UnitName, unit_dir};
use ppin_persist::{FragmentInfo, Key, Piece, UnitSpec, freeze, source_hash};
use ppin_relocator::{Fragment, FragmentRef};
use ppin_store::Folder;

extern crate std;

pub(super) const CANONICAL: Context = Context::CANONICAL;
const IDENTITY: [u8; 32] = [0x11; 32];
/// Hot bytes of which two do not fit into one group.
pub(super) const LARGE: usize = 12 << 10;

/// A code cache and a database.
pub(crate) struct Shelf {
    pub(crate) world: World,
    pub(super) library: Library,
    pub(super) key: Key,
    pub(super) disk: tempfile::TempDir,
}

impl Shelf {
    pub(super) fn new() -> Self {
        Self::with_flags(0)
    }

    pub(super) fn with_flags(flags: u32) -> Self {
        let mut app = App::new(8);
        app.writable = false;
        let mut world = World::of(app, 64 << 20);
        let disk = tempfile::tempdir().expect("a temporary folder");
        let library = library(disk.path(), flags);
        name(&mut world);
        let image = world.code.images.get(world.image);
        let key = library.key(IDENTITY, image.base);
        Self {
            world,
            library,
            key,
            disk,
        }
    }

    /// The next run, with the same app at the same place.
    pub(super) fn again(self) -> Self {
        self.again_with(0)
    }

    pub(super) fn again_with(self, flags: u32) -> Self {
        let Self {
            mut world,
            key,
            disk,
            ..
        } = self;
        // The units' places are free again.
        world.code.units.release(world.image);
        let mut world = World::of(world.app, 64 << 20);
        name(&mut world);
        Self {
            library: library(disk.path(), flags),
            world,
            key,
            disk,
        }
    }

    /// The run ends.
    pub(super) fn save_plan(&mut self) {
        let Self { world, library, .. } = self;
        world.code.save_plan(library, &[]);
    }

    /// Path of a file in the folder of the units.
    pub(super) fn path(&mut self, name: &str) -> std::path::PathBuf {
        std::path::Path::new(self.folder().path()).join(name)
    }

    /// Path of the unit with this number.
    pub(super) fn unit_path(&mut self, seq: u32) -> std::path::PathBuf {
        self.path(&UnitName { seq, tag: 1 }.file_name())
    }

    pub(super) fn folder(&mut self) -> Folder {
        let made = self.library.make_own_folder(&unit_dir(&self.key));
        made.expect("the folder can be made")
    }

    /// The unit file of `fragments`.
    pub(super) fn freeze(&self, fragments: &[(Fragment, u32)]) -> Vec<u8> {
        self.freeze_for(-0x6000_0000, fragments)
    }

    /// The same, laid out for a place so far from the image.
    pub(super) fn freeze_for(&self, displacement: i64, fragments: &[(Fragment, u32)]) -> Vec<u8> {
        let base = self.world.code.images.get(self.world.image).base;
        let pieces: Vec<Piece<'_>> = fragments
            .iter()
            .map(|(fragment, flags)| Piece {
                fragment: FragmentRef::from(fragment),
                flags: *flags,
                source_hash: hash_of(&self.world.app, fragment, base),
                tool: &[],
            })
            .collect();
        freeze(&UnitSpec {
            key: self.key,
            displacement,
            image_base: base,
            image_path: b"/test/app",
            label: b"",
            explored: false,
            entrances: true,
            fragments: &pieces,
        })
        .expect("well-formed fragments")
    }

    pub(super) fn publish(&mut self, seq: u32, bytes: &[u8]) {
        let name = UnitName { seq, tag: 1 };
        let folder = self.folder();
        let published = folder.publish(&name.file_name(), bytes);
        published.expect("it can be written");
    }

    /// With a unit of these fragments, which nobody has asked for yet.
    pub(crate) fn holding(fragments: &[(Fragment, u32)]) -> Self {
        let mut shelf = Self::new();
        let bytes = shelf.freeze(fragments);
        shelf.publish(0, &bytes);
        shelf
    }

    pub(crate) fn find(&mut self, offset: u64) -> Option<CachePc> {
        self.find_under(offset, CANONICAL)
    }

    pub(super) fn find_under(&mut self, offset: u64, context: Context) -> Option<CachePc> {
        let pc = self.world.pc(offset);
        let Self { world, library, .. } = self;
        world.code.find_persisted(library, pc, context, true)
    }

    pub(crate) fn units(&self) -> &[Bound] {
        self.world.code.units.of(self.world.image)
    }

    pub(super) fn notes(&self) -> String {
        self.world.code.figures.notes.join("\n")
    }

    /// Where the fragment at `offset` is entered.
    pub(super) fn entry(&self, offset: u64) -> CachePc {
        let unit = &self.units()[0];
        let found = unit.unit.lookup(ImageOff(offset as i32), CANONICAL);
        let entry = found.expect("sound").expect("it is in the unit");
        CachePc(unit.hot() + u64::from(entry.hot))
    }

    fn info(&self, offset: u64) -> FragmentInfo {
        let unit = &self.units()[0];
        let found = unit.unit.lookup(ImageOff(offset as i32), CANONICAL);
        let entry = found.expect("sound").expect("it is in the unit");
        unit.unit.info(entry.fragment).expect("sound")
    }

    /// Addresses of the slot and the stub of exit 0 of the fragment at `offset`: its own one, or a spare one that it was
    /// given. `None`: it has none.
    pub(super) fn exit(&self, offset: u64) -> Option<(u64, u64)> {
        let (unit, info) = (&self.units()[0], self.info(offset));
        let at = |slot: u32, cold: u32| {
            let slot = unit.exit_slots() + 8 * u64::from(slot);
            (slot, unit.cold() + u64::from(cold))
        };
        let mut own = unit.unit.with_stubs(info.number).expect("sound");
        if own.next() == Some(0) {
            return Some(at(info.stubs.start, info.cold.start));
        }
        let exit = Given {
            fragment: info.number,
            exit: 0,
        };
        let number = unit.given.iter().position(|given| *given == exit)?;
        let spares = unit.unit.spares();
        let cold = spares.cold + stub::at(number);
        Some(at(spares.slot + number as u32, cold))
    }

    /// Address of its stub.
    pub(super) fn stub(&self, offset: u64) -> u64 {
        self.exit(offset).expect("it has a stub").1
    }

    /// Links exit 0 of the fragment at `offset` to `entry`.
    pub(super) fn link(&mut self, offset: u64, entry: CachePc) {
        let unit = &self.units()[0];
        let stub = self.stub(offset);
        // (Its cold code may not have run yet.)
        let exit = unit.exit_of_stub(stub, self.world.code.images.get(self.world.image).base);
        self.world.code.link(&exit.expect("it has one"), entry);
    }

    /// Addresses in the unit at which there is the stub of an exit that may run, and where that goes.
    pub(super) fn exit_at_every_address(&self) -> Vec<(u64, AppPc)> {
        let (start, end) = self.units()[0].range();
        let found = (start..end).filter_map(|at| Some((at, self.world.code.exit_at(at)?.target)));
        found.collect()
    }

    /// Where the branch of exit 0 of the fragment at `offset` leads.
    pub(super) fn branch(&self, offset: u64) -> u64 {
        let field = self.units()[0].hot() + u64::from(self.info(offset).hot.start) + 4;
        // SAFETY: within the unit's mapping.
        let distance = unsafe { (field as *const i32).read() };
        (field + 4).wrapping_add_signed(i64::from(distance))
    }

    /// Contents of the first slot of the fragment at `offset` that is no exit's.
    pub(crate) fn value(&self, offset: u64) -> u64 {
        let (unit, info) = (&self.units()[0], self.info(offset));
        let slot = unit.addr + unit.geometry.slots.start + 8 * u64::from(info.slots.start);
        // SAFETY: within the unit's mapping.
        unsafe { (slot as *const u64).read() }
    }

    /// Contents of the slot of exit 0 of the fragment at `offset`.
    pub(crate) fn slot(&self, offset: u64) -> u64 {
        // SAFETY: within the unit's mapping.
        unsafe { (self.exit(offset).expect("it has a slot").0 as *const u64).read() }
    }

    pub(super) fn byte(&self, at: CachePc) -> u8 {
        // SAFETY: within the unit's mapping.
        unsafe { (at.0 as *const u8).read_volatile() }
    }
}

fn library(disk: &std::path::Path, flags: u32) -> Library {
    let path = disk.to_str().expect("plain text");
    let mut library = Library::new(Databases {
        paths: alloc::vec![String::from(path)],
        reads: true,
        writes: true,
        flags,
        engine: [0x22; 32],
        tools: alloc::vec![([7; 32], String::new())],
        optimize: Optimize::ALL,
    });
    library.set_turn(false);
    library
}

/// Makes the only image known, as that of the program.
fn name(world: &mut World) {
    world.code.images.get_mut(world.image).identity = Some(IDENTITY);
    let start = world.pc(0);
    world.code.images.set_program(start);
}

fn hash_of(app: &App, fragment: &Fragment, base: ImageBase) -> u64 {
    let start = fragment.head.at(base).0;
    source_hash(&app.read(start, u64::from(fragment.source_len)))
}

pub(super) fn small(offset: u64, exits: &[u64]) -> (Fragment, u32) {
    (fragment(offset, 8, exits, CANONICAL), 0)
}

/// One that has a group of its own.
pub(super) fn large(offset: u64, exits: &[u64]) -> (Fragment, u32) {
    let (mut fragment, flags) = small(offset, exits);
    fragment.hot.resize(LARGE, 0x90);
    (fragment, flags)
}
