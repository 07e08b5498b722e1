//! Where ppin's own memory lies in a program: just below the stretch where the kernel loads
//! position-independent executables (`ELF_ET_DYN_BASE`, 2/3 of the address space).

/// The runtime's image, from here on.
pub const RUNTIME: u64 = 0x5500_0000_0000;
/// What the runtime maps for itself, from here on.
pub const PRIVATE: u64 = 0x5520_0000_0000;

/// What a limit of memory allows in bytes, but for brk(2). A soft limit of data
/// (`RLIMIT_DATA`) that is 0 stands for the hard one: Linux, `may_expand_vm`.
#[must_use]
pub const fn allowed(of_data: bool, soft: u64, hard: u64) -> u64 {
    if of_data && soft == 0 { hard } else { soft }
}

/// Limits of memory below which ppin does not go along with a program: a small one would
/// not miss less, we would.
pub const LEAST: u64 = 32 << 20;
