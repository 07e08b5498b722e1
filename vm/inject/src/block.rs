//! Writing the boot block: header, then strings, into an anonymous file.
#![allow(unsafe_code)]

use crate::fds;
use crate::sys::{Errno, Kernel, check, errno};
use core::mem::size_of;
use linux_raw_sys::general::{
    __NR_clock_gettime, __NR_getrlimit, __NR_memfd_create, __NR_pwrite64, __NR_writev,
    CLOCK_MONOTONIC, MFD_CLOEXEC, RLIMIT_FSIZE, iovec,
};
use ppin_abi::boot::{BOOTSTRAP_MAX, BootHeader, CacheMode, MAGIC, Str};

/// What the launcher decides; the rest of the header is filled in here and by H.
#[derive(Clone, Copy, Debug)]
pub struct BootParams<'a> {
    /// How the persistent cache is used.
    pub cache_mode: CacheMode,
    /// Bits of [`ppin_abi::boot::flag`].
    pub flags: u32,
    /// Limit of the code cache in KiB, 0: default.
    pub cache_limit_kib: u32,
    /// SHA-256 of the runtime ELF.
    pub engine_id: [u8; 32],
    /// Tracer that the app has declared itself, 0: none.
    pub ptracer: u64,
    /// Database directory, absolute; empty: none.
    pub db: &'a [u8],
    /// Tool name.
    pub tool: &'a [u8],
    /// `name=value` lines joined by `\n`.
    pub knobs: &'a [u8],
    /// Report file, absolute; empty: descriptor 2.
    pub output: &'a [u8],
    /// Statistics file, absolute; empty: descriptor 2.
    pub stats: &'a [u8],
    /// Absolute path of the ppin executable.
    pub ppin: &'a [u8],
    /// Read-only databases under `db`, joined by `:`.
    pub db_stack: &'a [u8],
    /// What the launcher adds to the reasons in the statistics.
    pub note: &'a [u8],
    /// Log file, absolute; empty: none.
    pub log: &'a [u8],
}

impl BootParams<'_> {
    /// No database, no tool.
    pub const EMPTY: Self = Self {
        cache_mode: CacheMode::Off,
        flags: 0,
        cache_limit_kib: 0,
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
    };
}

const STRINGS: usize = 9;

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
        ]
    }

    /// The header, with the strings placed one after the other behind it.
    pub(crate) fn header<K: Kernel>(&self, kernel: &mut K) -> BootHeader {
        let mut at = size_of::<BootHeader>() as u32;
        let [db, tool, knobs, output, stats, ppin, db_stack, note, log] =
            self.strings().map(|text| {
                let placed = Str {
                    at,
                    len: text.len() as u32,
                };
                at += placed.len + 1;
                placed
            });
        BootHeader {
            magic: MAGIC,
            len: at,
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
            db,
            tool,
            knobs,
            output,
            stats,
            ppin,
            db_stack,
            note,
            log,
            saved: [0; BOOTSTRAP_MAX],
        }
    }
}

/// An anonymous file with the block in it, close-on-exec, out of the app's way.
pub(crate) fn create<K: Kernel>(
    kernel: &mut K,
    params: &BootParams<'_>,
    header: &BootHeader,
) -> Result<i32, Errno> {
    if size_limit(kernel) < u64::from(header.len) {
        // The write would not only fail, but be punished with a signal.
        return Err(Errno(errno::EFBIG as i32));
    }
    let name = c"ppin-boot".as_ptr() as usize;
    // SAFETY: the name is a string constant.
    let raw = unsafe { kernel.call(__NR_memfd_create, [name, MFD_CLOEXEC as usize, 0, 0, 0, 0]) };
    let low = check(raw)? as i32;
    let fd = fds::raise(kernel, low);
    write_whole(kernel, fd, params, header).inspect_err(|_| fds::close(kernel, fd))?;
    Ok(fd)
}

/// Largest file that this process may write (setrlimit(2), `RLIMIT_FSIZE`).
fn size_limit<K: Kernel>(kernel: &mut K) -> u64 {
    let mut limit = [u64::MAX; 2];
    let args = [
        RLIMIT_FSIZE as usize,
        limit.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes a `struct rlimit`.
    unsafe { kernel.call(__NR_getrlimit, args) };
    limit[0]
}

fn write_whole<K: Kernel>(
    kernel: &mut K,
    fd: i32,
    params: &BootParams<'_>,
    header: &BootHeader,
) -> Result<(), Errno> {
    let mut parts = [bytes_of(header); 1 + 2 * STRINGS];
    for (index, text) in params.strings().into_iter().enumerate() {
        parts[1 + 2 * index] = text;
        parts[2 + 2 * index] = b"\0";
    }
    let vector = parts.map(|part| iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len() as _,
    });
    let args = [fd as usize, vector.as_ptr() as usize, vector.len(), 0, 0, 0];
    // SAFETY: the kernel reads the parts, which are alive.
    let written = check(unsafe { kernel.call(__NR_writev, args) })?;
    complete(written, header.len as usize)
}

/// Writes the header again, now that H has filled it in.
pub(crate) fn update<K: Kernel>(kernel: &mut K, fd: i32, header: &BootHeader) -> Result<(), Errno> {
    let bytes = bytes_of(header);
    let args = [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
    // SAFETY: the kernel reads the header, which is alive.
    let written = check(unsafe { kernel.call(__NR_pwrite64, args) })?;
    complete(written, bytes.len())
}

fn complete(written: usize, expected: usize) -> Result<(), Errno> {
    if written == expected {
        Ok(())
    } else {
        Err(Errno(errno::ENOSPC as i32))
    }
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
        == 8 + 4 * 4 + 8 * 3 + 4 * 2 + 8 + 32 + 16 + 24 + 8 + 8 * STRINGS + BOOTSTRAP_MAX
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
