//! Where the door keeps what is read without running the tool. `ppin-door` defines the table as
//! a `repr(C)` structure, and asserts that its fields lie at these offsets.
//!
//! ```text
//!  0  magic      8 bytes
//!  8  version    u32
//! 12  length     u32, of the whole table
//! 16  opcodes    u64, a hash of the names that the tool was built with
//! 24  name       text
//! 40  summary    text
//! 56  knobs      address and number of rows
//! 72  functions  addresses, up to the end of the table
//!
//! text: address u64, length u64          a row of the knobs: three texts (name, default, help)
//!                                        and a u64 of flags
//! ```

/// First bytes of a door.
pub const MAGIC: [u8; 8] = *b"ppintool";
/// Version of the tool interface: one more whenever anything changes that crosses the door.
pub const VERSION: u32 = 8;

/// Offset of the version.
pub const AT_VERSION: usize = 8;
/// Offset of the table's length.
pub const AT_LENGTH: usize = 12;
/// Offset of the opcodes' hash.
pub const AT_OPCODES: usize = 16;
/// Offset of the tool's name.
pub const AT_NAME: usize = 24;
/// Offset of the summary.
pub const AT_SUMMARY: usize = 40;
/// Offset of the knobs.
pub const AT_KNOBS: usize = 56;
/// Offset of the first function.
pub const AT_FUNCTIONS: usize = 72;
/// Most bytes of a door.
pub const MAX_LENGTH: u32 = 4096;

/// Length of a text in the table.
pub const TEXT: usize = 16;
/// Length of a knob's row.
pub const KNOB: usize = 56;
/// Flag of a knob that changes what is inserted.
pub const CHANGES_CODE: u64 = 1;
/// Flag of a knob that names a file which the tool writes.
pub const WRITES_FILE: u64 = 2;

/// A hash of a list of names (FNV-1a), to compare those of the tool with those of ppin.
#[must_use]
pub const fn hash(text: &[u8]) -> u64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < text.len() {
        hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}
