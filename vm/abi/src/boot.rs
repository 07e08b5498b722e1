//! The boot block: what the launcher (or an instrumented parent that follows an
//! exec) leaves for the runtime of a fresh process.
//!
//! The helper that traces the exec writes it below the stack pointer of the fresh
//! program; the runtime's first instructions move it into memory of the runtime's own.
//! Fixed header, then strings: all offsets are from the start of the block.

/// First bytes of a block; the last digit counts incompatible changes.
pub const MAGIC: [u8; 8] = *b"ppboot10";

/// Bytes of app memory that the bootstrap may overwrite, at the start of the page
/// that holds the app's first instruction.
pub const BOOTSTRAP_MAX: usize = 64;

/// How the persistent cache is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum CacheMode {
    /// Read what is there, add what is new.
    ReadWrite = 0,
    /// Read only.
    ReadOnly = 1,
    /// Neither.
    Off = 2,
}

/// Switches, in [`BootHeader::flags`].
pub mod flag {
    /// Instrument the programs that this one executes.
    pub const FOLLOW: u32 = 1 << 0;
    /// Write statistics (`stats` string: a path, empty for descriptor 2).
    pub const STATS: u32 = 1 << 1;
    /// Reports as JSON.
    pub const JSON: u32 = 1 << 2;
    /// Test mode: put every unit and arena at a shuffled place.
    pub const SHUFFLE: u32 = 1 << 3;
    /// Test mode: never use a unit's preferred place.
    pub const FORBID_PREFERRED: u32 = 1 << 4;
    /// Lockstep: no links, and a report to the tracer at every VM entry.
    pub const LOCKSTEP: u32 = 1 << 5;
    /// Compare translated code with the processor now and then (`check_every`).
    pub const SAMPLE: u32 = 1 << 6;
    /// What the program did not execute is translated, too, at its end (`ppin warm`).
    pub const EXPLORE: u32 = 1 << 7;
    /// A parent has looked at the processor; the next two say what it has found.
    pub const PROCESSOR: u32 = 1 << 8;
    /// `loop` is fast.
    pub const LOOPS_FAST: u32 = 1 << 9;
    /// There is `shrx`.
    pub const SHIFTS: u32 = 1 << 10;
}

/// A string in the block: offset and length in bytes, no terminator counted (one
/// zero byte follows each string, so that paths can be handed to system calls).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Str {
    /// Offset from the start of the block.
    pub at: u32,
    /// Length without the terminating zero.
    pub len: u32,
}

/// Head of the block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BootHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// Length of the whole block, in bytes.
    pub len: u32,
    /// A [`CacheMode`].
    pub cache_mode: u32,
    /// Bits of [`flag`].
    pub flags: u32,
    /// Process id of the helper that the runtime must reap; 0: none.
    pub helper_pid: u32,
    /// App's first instruction (app address); filled in by the helper. 0: the program runs already.
    pub entry_pc: u64,
    /// App's stack pointer there, also if it runs already; filled in by the helper.
    pub entry_sp: u64,
    /// Address of the page part that the bootstrap overwrote; filled in by the helper.
    pub patched_at: u64,
    /// Number of bytes of it that were saved in `saved`.
    pub patched_len: u32,
    /// Limit of the code cache in KiB, 0: default.
    pub cache_limit_kib: u32,
    /// Nanoseconds (CLOCK_MONOTONIC) when injection began.
    pub started_ns: u64,
    /// Identity of the runtime ELF: SHA-256 of its bytes.
    pub engine_id: [u8; 32],
    /// Where the runtime lies in the ppin executable, for exec following.
    pub runtime: RuntimeSpan,
    /// Device, inode and change time (ns) of the ppin executable when it was
    /// opened: an upgraded one is not mapped at the old offsets.
    pub ppin_ident: [u64; 3],
    /// The tracer that the app had declared (`PR_SET_PTRACER`) before the helper
    /// took its place; 0: none, nothing to restore.
    pub ptracer: u64,
    /// With [`flag::SAMPLE`]: one in so many arrivals is compared; 0: as many as a
    /// bearable slow-down allows.
    pub check_every: u64,
    /// Signals with the numbers of faults that the program begins with ignored (bit 0:
    /// signal 1): the kernel does not keep that of signals which we catch.
    pub ignored: u64,
    /// Device and inode number of the program's file, as who executes it has found it; 0: unknown.
    pub program: [u64; 2],
    /// Bytes that the units of the database may take.
    pub db_cap: u64,
    /// Mechanisms of the compiler that are wanted ([`crate::optimize::Optimize::bits`]).
    pub optimize: u64,
    /// Database directory (absolute), empty: none.
    pub db: Str,
    /// The tools, a line each (`ppin_plugin::chosen`); empty: none.
    pub tool: Str,
    /// Their knobs, a line each.
    pub knobs: Str,
    /// `-o` file (absolute), empty: descriptor 2; or `fd:NUMBER:DEVICE:INODE`: an open
    /// descriptor, while it is that file.
    pub output: Str,
    /// `--stats` file, likewise.
    pub stats: Str,
    /// Absolute path of the ppin executable, for exec following and reports.
    pub ppin: Str,
    /// Read-only databases under `db`, joined by `:`.
    pub db_stack: Str,
    /// What the launcher adds to the reasons in the statistics, empty: nothing.
    pub note: Str,
    /// `--log` file, likewise; empty: none.
    pub log: Str,
    /// What a parent knows of the CPU ([`crate::cpuid::Answer::bytes`]); empty: nothing.
    pub answers: Str,
    /// Threads of a program that runs already ([`crate::attach::tasks`]); empty: it is about to begin.
    pub tasks: Str,
    /// File with places that are to be translated although nothing comes there ([`crate::places`]); empty: none.
    pub places: Str,
    /// App bytes that the bootstrap overwrote.
    pub saved: [u8; BOOTSTRAP_MAX],
}

/// Where in the ppin executable the runtime ELF lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct RuntimeSpan {
    /// Page-aligned offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}
