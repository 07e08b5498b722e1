//! What the tests of this crate share: a VM of the test's own, and memory that stands for the app's.

extern crate std;
use crate::lookup;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::{CacheMode, RuntimeSpan};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_api::{About, Counter, IPoint, Tool, Trace};
use ppin_codecache::CodeCache;
use ppin_codecache::fresh::Fresh;
use ppin_codecache::unit::{Databases, Library};
use ppin_images::ImageId;
use ppin_indirect::{IblTable, Landings};
use ppin_os::file::File;
use ppin_os::maps::MapEntry;
use ppin_os::mem::{self, PAGE};
use ppin_os::{c, lock, peek};
use ppin_process::app_code;
use ppin_process::config::Config;
use ppin_process::report::stats::Stats;
use ppin_process::signal::Actions;
use ppin_process::thread::{Process, Thread, Threads};
use ppin_process::vm::Vm;
use std::path::Path;

/// A tool that inserts nothing.
struct NoTool;

impl Tool for NoTool {
    fn about(&self) -> &'static About {
        &About {
            name: "none",
            summary: "inserts nothing",
            knobs: &[],
        }
    }

    fn instrument(&self, _: &Trace<'_>) {}
}

/// A tool that counts instructions.
struct Counting;

impl Tool for Counting {
    fn about(&self) -> &'static About {
        &About {
            name: "counting",
            summary: "counts instructions",
            knobs: &[],
        }
    }

    fn global_counters(&self) -> u32 {
        1
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            let counted = ins.insert_count(IPoint::Anywhere, Counter::Global(0), 1);
            counted.expect("granted");
        }
    }
}

/// Pages of the app's memory.
pub(crate) const PAGES: u64 = 8;
/// `ret`
pub(crate) const RET: u8 = 0xc3;
/// `nop`
pub(crate) const NOP: u8 = 0x90;

/// A VM, and memory of the app that it translates. (The memory is never freed.)
pub(crate) struct World {
    pub(crate) vm: Vm,
    /// Address of the memory.
    pub(crate) start: u64,
    pub(crate) image: ImageId,
    pub(crate) thread: &'static mut Thread,
}

impl World {
    /// Memory without a file that the app may write to.
    pub(crate) fn writable() -> Self {
        let entry = entry(memory(), true);
        Self::of(&entry, None, config(None, 0), &NoTool)
    }

    /// Memory without a file that the app may write to or not, under a tool that counts.
    pub(crate) fn counting(writable: bool) -> Self {
        let entry = entry(memory(), writable);
        Self::of(&entry, None, config(None, 0), &Counting)
    }

    /// Memory without a file that the app may not write to. (The test may.)
    pub(crate) fn read_only() -> Self {
        Self::with_flags(0)
    }

    /// The same with flags of the run.
    pub(crate) fn with_flags(flags: u32) -> Self {
        let entry = entry(memory(), false);
        Self::of(&entry, None, config(None, flags), &NoTool)
    }

    /// Code of the ELF file at `path`, mapped at `start`, with a database in the folder `db`.
    pub(crate) fn of_file(start: u64, path: &Path, db: &Path, flags: u32) -> Self {
        let path = path.to_str().expect("plain").to_string();
        let file = File::open(&path, c::O_RDONLY, 0).expect("it is there");
        let entry = MapEntry {
            path,
            ..entry(start, false)
        };
        Self::of(&entry, Some(file), config(Some(db), flags), &NoTool)
    }

    fn of(entry: &MapEntry, file: Option<File>, config: Config, tool: &'static dyn Tool) -> Self {
        peek::never_fault();
        // (Tests run beside each other.)
        lock::begin_company();
        let thread = thread();
        let library = library(&config);
        let table = Box::leak(Box::new(AtomicU64::new(0)));
        let table = IblTable::new(table, Landings::new(&[], 0));
        let code = CodeCache::new(8 << 20, table);
        let threads = Threads::new(thread);
        let stats = Stats::begun(0, 0);
        let mut vm = Vm::new(config, tool, (code, library), threads, stats);
        let stat = file.map(|file| file.stat().expect("it is open"));
        let image = app_code::add(&mut vm, entry, stat, false);
        Self {
            vm,
            start: entry.start,
            image,
            thread,
        }
    }

    pub(crate) fn pc(&self, offset: u64) -> AppPc {
        AppPc(self.start + offset)
    }

    /// The app stores `bytes` at `offset`: what the fault handler does, then the store.
    pub(crate) fn put(&mut self, offset: u64, bytes: &[u8]) {
        let at = self.start + offset;
        let page = mem::page_down(at);
        let code = self.vm.code();
        if code.guards().guarded(page, page + 1).next().is_some() {
            assert!(crate::changes::store(&mut self.vm, at, 0), "a guard");
        }
        write(at, bytes);
    }

    /// The translation of the code at `offset`.
    pub(crate) fn look_up(&mut self, offset: u64) -> CachePc {
        let pc = self.pc(offset);
        lookup(&mut self.vm, pc, Context::CANONICAL)
    }

    /// The fresh fragment at `entry`.
    pub(crate) fn fresh(&self, entry: CachePc) -> &Fresh {
        self.vm.code().fragment_at(entry.0).expect("it is fresh")
    }

    /// Bytes of code that the translation of the code at `offset` was made from.
    pub(crate) fn len_at(&mut self, offset: u64) -> u32 {
        let entry = self.look_up(offset);
        self.fresh(entry).code().source_len
    }

    /// Traces translated so far.
    pub(crate) fn compiled(&self) -> u64 {
        self.vm.code().figures().traces_compiled
    }
}

/// A program's file, in memory of the app, and a database.
pub(crate) mod disk {
    use super::{PAGES, World, memory, std, write};
    use alloc::string::String;
    use alloc::vec::Vec;
    use ppin_os::mem::PAGE;
    use std::path::PathBuf;

    /// Offset of the code.
    pub(crate) const CODE: u64 = PAGE;

    pub(crate) struct Disk {
        folder: tempfile::TempDir,
        bytes: Vec<u8>,
    }

    impl Disk {
        /// With this code in the program.
        pub(crate) fn new(code: &[u8]) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let bytes = elf(code);
            let disk = Self { folder, bytes };
            std::fs::write(disk.program(), &disk.bytes).expect("it is ours");
            std::fs::create_dir(disk.database()).expect("it is ours");
            disk
        }

        pub(crate) fn program(&self) -> PathBuf {
            self.folder.path().join("program")
        }

        pub(crate) fn database(&self) -> PathBuf {
            self.folder.path().join("db")
        }

        /// A run of the program, which has it in memory of its own.
        pub(crate) fn run(&self) -> World {
            self.run_with(0)
        }

        /// A run with flags.
        pub(crate) fn run_with(&self, flags: u32) -> World {
            let start = memory();
            write(start, &self.bytes);
            World::of_file(start, &self.program(), &self.database(), flags)
        }

        /// Names of the unit files.
        pub(crate) fn units(&self) -> Vec<PathBuf> {
            let mut found = Vec::new();
            collect(self.database(), &mut found);
            found
        }
    }

    fn collect(folder: PathBuf, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("it is ours") {
            let path = entry.expect("it is ours").path();
            let is_unit = path.extension().is_some_and(|e| e == "unit");
            match path.is_dir() {
                true => collect(path, found),
                false if is_unit => found.push(path),
                false => {}
            }
        }
    }

    /// An ELF file with a build id, whose one segment is executable.
    fn elf(code: &[u8]) -> Vec<u8> {
        let words = |all: &[u64]| {
            all.iter()
                .flat_map(|w| w.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let note = [
            &[4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0][..],
            b"GNU\0\x12\x34\x56\x78",
        ]
        .concat();
        let (len, at) = (PAGES * PAGE, 64 + 2 * 56);
        let mut bytes = String::from("\x7fELF\x02\x01\x01").into_bytes();
        bytes.resize(16, 0);
        bytes.extend(words(&[0x1_003e_0003, 0, 64, 0, 0x0038_0040_0000_0000, 2]));
        bytes.extend(words(&[0x5_0000_0001, 0, 0, 0, len, len, PAGE]));
        let size = note.len() as u64;
        bytes.extend(words(&[0x4_0000_0004, at, at, at, size, size, 4]));
        assert_eq!(bytes.len() as u64, at);
        bytes.extend(note);
        bytes.resize(CODE as usize, 0);
        bytes.extend(code);
        bytes.resize(len as usize, 0xcc);
        bytes
    }
}

/// A restartable sequence in a world: where its parts lie.
pub(crate) mod sequence {
    use super::{NOP, RET, World};
    use alloc::vec::Vec;

    /// The usual signature.
    pub(crate) const SIGNATURE: [u8; 4] = 0x5305_3053_u32.to_le_bytes();
    /// The code that announces the sequence: `lea rax, [rip + DESCRIPTOR]; ret`.
    pub(crate) const ANNOUNCED: u64 = 0x10;
    /// `nop; inc eax; nop; mov [rdi], eax`
    pub(crate) const START: u64 = 0x100;
    /// Its length.
    pub(crate) const LEN: u64 = 6;
    /// The abort handler: `ret`, behind the signature.
    pub(crate) const ABORT: u64 = 0x200;
    /// Another one, before the sequence.
    pub(crate) const EARLIER: u64 = 0x80;
    /// `struct rseq_cs`
    pub(crate) const DESCRIPTOR: u64 = 0x400;

    /// Code with a sequence that nobody has met yet.
    pub(crate) fn world() -> World {
        let mut world = World::read_only();
        let lea = [0x48, 0x8d, 0x05];
        let distance = (DESCRIPTOR - ANNOUNCED - 7) as u32;
        world.put(
            ANNOUNCED,
            &[&lea[..], &distance.to_le_bytes(), &[RET]].concat(),
        );
        world.put(START, &[NOP, 0xff, 0xc0, NOP, 0x89, 0x07, RET]);
        for handler in [ABORT, EARLIER] {
            world.put(handler - 4, &SIGNATURE);
            world.put(handler, &[RET]);
        }
        let start = world.start;
        let words = [0, start + START, LEN, start + ABORT];
        describe(&mut world, DESCRIPTOR, words);
        world
    }

    /// Writes a descriptor to `offset`.
    pub(crate) fn describe(world: &mut World, offset: u64, words: [u64; 4]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        world.put(offset, &bytes);
    }
}

/// Writes to the app's memory, which is not guarded.
pub(crate) fn write(at: u64, bytes: &[u8]) {
    // SAFETY: memory of the test's own; a page that is guarded would fault.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
}

/// Memory for the app, far from all others.
pub(crate) fn memory() -> u64 {
    /// Each has more room than displacements reach.
    const APART: u64 = 1 << 33;
    static NEXT: AtomicU64 = AtomicU64::new(0x2000_0000_0000);
    let start = NEXT.fetch_add(APART, Ordering::Relaxed);
    mem::map_anon_at(start, PAGES * PAGE, mem::RWX).expect("nobody maps there");
    start
}

fn entry(start: u64, writable: bool) -> MapEntry {
    MapEntry {
        start,
        end: start + PAGES * PAGE,
        readable: true,
        writable,
        executable: true,
        ..MapEntry::default()
    }
}

fn thread() -> &'static mut Thread {
    let thread = Thread::create(0, 0, 0, [0; _]).expect("there is memory");
    // SAFETY: just made, and known to no other code.
    let thread = unsafe { &mut *thread };
    thread.begin_process(Process::new(Actions::DEFAULT));
    thread
}

fn config(db: Option<&Path>, flags: u32) -> Config {
    let db = db.map_or_else(String::new, |db| db.to_str().expect("plain").to_string());
    Config {
        cache_mode: if db.is_empty() {
            CacheMode::Off
        } else {
            CacheMode::ReadWrite
        },
        flags,
        cache_limit_kib: 0,
        check_every: 0,
        db_cap: 1 << 40,
        wanted: Optimize::ALL,
        optimize: Optimize::ALL,
        db,
        db_stack: Vec::new(),
        note: String::new(),
        tools: Vec::new(),
        output: String::new(),
        stats: String::new(),
        log: String::new(),
        places: String::new(),
        ppin: String::new(),
        engine_id: [0x22; 32],
        runtime: RuntimeSpan::default(),
        ppin_ident: [0; 3],
        started_ns: 0,
    }
}

fn library(config: &Config) -> Library {
    Library::new(Databases {
        paths: alloc::vec![config.db.clone()],
        reads: config.reads(),
        writes: true,
        flags: config.flags,
        engine: config.engine_id,
        tools: Vec::new(),
        optimize: Optimize::ALL,
    })
}
