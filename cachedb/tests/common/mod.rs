//! Databases for tests, filled the way a runtime fills them.
#![allow(dead_code, reason = "each test binary uses a part")]

use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_cachedb::{Access, Database, UnitPath};
use ppin_persist::paths::UnitName;
use ppin_persist::{Key, Piece, UnitFile, UnitSpec, freeze};
use ppin_relocator::{Exit, Fragment, FragmentRef, PcRow, Reloc, RelocKind, Section, normalise};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const IMAGE_PATH: &str = "[libexample]";

pub fn key(image: u8) -> Key {
    Key {
        image: [image; 32],
        engine: [0x22; 32],
        tool: [0x33; 32],
    }
}

pub struct Bench {
    _dir: TempDir,
    pub root: PathBuf,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("db");
        Database::open(&root, Access::ReadWrite).unwrap();
        Self { _dir: dir, root }
    }

    pub fn open(&self) -> Database {
        Database::open(&self.root, Access::ReadWrite).unwrap()
    }

    /// A unit with fragments for these heads, as a run leaves it.
    pub fn add(&self, key: &Key, seq: u32, heads: &[i32]) -> UnitPath {
        let tag = heads
            .iter()
            .fold(7, |tag: u64, head| tag.wrapping_mul(31) ^ *head as u64);
        let path = path(key, seq, tag);
        self.put(&path, &unit(key, heads));
        path
    }

    pub fn put(&self, path: &UnitPath, bytes: &[u8]) {
        let full = self.root.join(path.relative());
        make_dir(full.parent().unwrap());
        let temporary = full.with_file_name(format!(".tmp-{:?}", std::thread::current().id()));
        fs::write(&temporary, bytes).unwrap();
        fs::rename(&temporary, &full).unwrap();
    }

    /// Heads of all fragments that a run would find for `key`.
    pub fn heads(&self, key: &Key) -> BTreeSet<i32> {
        let db = self.open();
        let mut heads = BTreeSet::new();
        for image in db.list().unwrap() {
            for unit in image
                .units
                .iter()
                .filter(|unit| unit.path.image == key.image)
            {
                let Some(bytes) = db.read(&unit.path).unwrap() else {
                    continue;
                };
                let file = UnitFile::open(&bytes, Some(key)).unwrap();
                let all = file.thaw_all().unwrap();
                heads.extend(all.iter().map(|thawed| thawed.fragment.head.0));
            }
        }
        heads
    }
}

pub fn path(key: &Key, seq: u32, tag: u64) -> UnitPath {
    UnitPath {
        key_dir: key.directory(),
        image: key.image,
        name: UnitName { seq, tag },
    }
}

pub fn make_dir(dir: &Path) {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .unwrap();
}

pub fn unit(key: &Key, heads: &[i32]) -> Vec<u8> {
    let fragments: Vec<_> = heads.iter().map(|head| fragment(*head)).collect();
    let pieces: Vec<_> = fragments
        .iter()
        .map(|fragment| Piece {
            fragment: FragmentRef::from(fragment),
            flags: 0,
            source_hash: fragment.head.0 as u64,
            tool: &[],
        })
        .collect();
    freeze(&UnitSpec {
        key: *key,
        displacement: -0x40_0000,
        image_base: ImageBase(0),
        image_path: IMAGE_PATH.as_bytes(),
        label: b"bbcount",
        explored: false,
        entrances: false,
        fragments: &pieces,
    })
    .unwrap()
}

fn fragment(head: i32) -> Fragment {
    let mut fragment = Fragment {
        head: ImageOff(head),
        context: Context(0),
        source_len: 16,
        beyond: 0,
        instructions: 4,
        shape: ppin_relocator::Shape::STRAIGHT,
        entry: 0,
        hot: vec![head as u8; 64],
        cold: vec![0x90; 48],
        slots: Vec::new(),
        relocs: vec![Reloc {
            section: Section::Hot,
            at: 16,
            pc_bias: 4,
            kind: RelocKind::App(ImageOff(head + 100)),
        }],
        exits: vec![Exit {
            target: ImageOff(head + 16),
            context: Context(0),
            branch: 32,
        }],
        pc_map: [PcRow::default()].into_iter().collect(),
        counts: Vec::new(),
    };
    normalise(&mut fragment);
    fragment
}
