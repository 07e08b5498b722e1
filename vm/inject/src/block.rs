//! The boot block: header, then strings, and where it lies until the runtime takes it.
//!
//! No file and no descriptor carries it over the exec: both may be limited to nothing
//! (`ulimit -f 0`, `ulimit -n 4`).
#![allow(unsafe_code)]

use crate::sys::Kernel;
use core::mem::size_of;
use linux_raw_sys::general::{__NR_clock_gettime, CLOCK_MONOTONIC, iovec};
use ppin_abi::boot::{BOOTSTRAP_MAX, BootHeader, CacheMode, MAGIC, Str};
use ppin_abi::optimize::Optimize;

/// Parts of the boot block that the launcher decides; the rest of the header is filled in here and by H.
#[derive(Clone, Copy, Debug)]
pub struct BootParams<'a> {
    /// How the persistent cache is used.
    pub cache_mode: CacheMode,
    /// Bits of [`ppin_abi::boot::flag`].
    pub flags: u32,
    /// Limit of the code cache in KiB, 0: default.
    pub cache_limit_kib: u32,
    /// How often translated code is compared, see [`BootHeader::check_every`].
    pub check_every: u64,
    /// Signals that are ignored though the kernel does not say so, see
    /// [`BootHeader::ignored`].
    pub ignored: u64,
    /// The program's file, see [`BootHeader::program`].
    pub program: [u64; 2],
    /// Bytes that the units of the database may take.
    pub db_cap: u64,
    /// Mechanisms of the compiler that are on.
    pub optimize: Optimize,
    /// SHA-256 of the runtime ELF.
    pub engine_id: [u8; 32],
    /// Tracer that the app has declared itself, 0: none.
    pub ptracer: u64,
    /// Database directory, absolute; empty: none.
    pub db: &'a [u8],
    /// The tools, as [`BootHeader::tool`] has them.
    pub tool: &'a [u8],
    /// Their knobs.
    pub knobs: &'a [u8],
    /// Report file, absolute; empty: descriptor 2.
    pub output: &'a [u8],
    /// Statistics file, absolute; empty: descriptor 2.
    pub stats: &'a [u8],
    /// Absolute path of the ppin executable.
    pub ppin: &'a [u8],
    /// Read-only databases under `db`, joined by `:`.
    pub db_stack: &'a [u8],
    /// Reasons that the launcher adds to those in the statistics.
    pub note: &'a [u8],
    /// Log file, absolute; empty: none.
    pub log: &'a [u8],
    /// Answers of the CPU, see [`BootHeader::answers`].
    pub answers: &'a [u8],
    /// Threads of a program that runs already, see [`BootHeader::tasks`].
    pub tasks: &'a [u8],
    /// File with places to translate, see [`BootHeader::places`].
    pub places: &'a [u8],
}

impl BootParams<'_> {
    /// No database, no tool.
    pub const EMPTY: Self = Self {
        cache_mode: CacheMode::Off,
        flags: 0,
        cache_limit_kib: 0,
        check_every: 0,
        ignored: 0,
        program: [0; 2],
        db_cap: 0,
        optimize: Optimize::ALL,
        engine_id: [0; 32],
        ptracer: 0,
        db: b"",
        tool: b"",
        knobs: b"",
        output: b"",
        stats: b"",
        ppin: b"",
        db_stack: b"",
        note: b"",
        log: b"",
        answers: b"",
        tasks: b"",
        places: b"",
    };
}

const STRINGS: usize = 12;

/// What the bootstrap says if it cannot map the runtime: the end of the block.
pub(crate) const NO_ROOM: &[u8] = b"ppin: no room to map the runtime\n";

impl<'a> BootParams<'a> {
    fn strings(&self) -> [&'a [u8]; STRINGS] {
        [
            self.db,
            self.tool,
            self.knobs,
            self.output,
            self.stats,
            self.ppin,
            self.db_stack,
            self.note,
            self.log,
            self.answers,
            self.tasks,
            self.places,
        ]
    }

    /// The header, with the strings placed one after the other behind it.
    pub(crate) fn header<K: Kernel>(&self, kernel: &mut K) -> BootHeader {
        let mut at = size_of::<BootHeader>() as u32;
        let [
            db,
            tool,
            knobs,
            output,
            stats,
            ppin,
            db_stack,
            note,
            log,
            answers,
            tasks,
            places,
        ] = self.strings().map(|text| {
            let placed = Str {
                at,
                len: text.len() as u32,
            };
            at += placed.len + 1;
            placed
        });
        BootHeader {
            magic: MAGIC,
            len: at + NO_ROOM.len() as u32,
            cache_mode: self.cache_mode as u32,
            flags: self.flags,
            helper_pid: 0,
            entry_pc: 0,
            entry_sp: 0,
            patched_at: 0,
            patched_len: 0,
            cache_limit_kib: self.cache_limit_kib,
            started_ns: now(kernel),
            engine_id: self.engine_id,
            runtime: ppin_abi::boot::RuntimeSpan::default(),
            ppin_ident: [0; 3],
            ptracer: self.ptracer,
            check_every: self.check_every,
            ignored: self.ignored,
            program: self.program,
            db_cap: self.db_cap,
            optimize: self.optimize.bits(),
            db,
            tool,
            knobs,
            output,
            stats,
            ppin,
            db_stack,
            note,
            log,
            answers,
            tasks,
            places,
            saved: [0; BOOTSTRAP_MAX],
        }
    }
}

/// The strings behind the header, each with its terminating zero, and [`NO_ROOM`], for H to write.
pub(crate) type Texts = [iovec; 2 * STRINGS + 1];

/// The texts of `params` where they lie.
pub(crate) fn texts(params: &BootParams<'_>) -> Texts {
    let mut parts = [part(b"\0"); 2 * STRINGS + 1];
    parts[2 * STRINGS] = part(NO_ROOM);
    for (place, text) in parts.iter_mut().step_by(2).zip(params.strings()) {
        *place = part(text);
    }
    parts
}

fn part(bytes: &[u8]) -> iovec {
    iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len() as u64,
    }
}

/// The whole block, in pieces.
pub(crate) fn pieces(header: &BootHeader, texts: &Texts) -> [iovec; 2 + 2 * STRINGS] {
    let mut all = [part(bytes_of(header)); 2 + 2 * STRINGS];
    all[1..].copy_from_slice(texts);
    all
}

/// Where the block goes: on the program's stack below `rsp`, with which nothing has
/// been done yet. The runtime takes it away from there at once, and leaves zeros.
pub(crate) fn place(rsp: u64, len: u32) -> u64 {
    const RED_ZONE: u64 = 128;
    const LINE: u64 = 64;
    (rsp - RED_ZONE - u64::from(len)) & !(LINE - 1)
}

fn bytes_of(header: &BootHeader) -> &[u8] {
    // SAFETY: the header is plain data without padding (see the assertion below).
    unsafe {
        core::slice::from_raw_parts(
            core::ptr::from_ref(header).cast::<u8>(),
            size_of::<BootHeader>(),
        )
    }
}

/// Fields without padding between them; whoever adds one adds it here.
const _: () = assert!(
    size_of::<BootHeader>()
        == 8 + 4 * 4 + 8 * 4 + 4 * 2 + 8 + 32 + 16 + 24 + 8 * 6 + 8 * STRINGS + BOOTSTRAP_MAX
);

fn now<K: Kernel>(kernel: &mut K) -> u64 {
    let mut time = [0u64; 2];
    let args = [
        CLOCK_MONOTONIC as usize,
        time.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: `time` has room for a timespec.
    unsafe { kernel.call(__NR_clock_gettime, args) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}
