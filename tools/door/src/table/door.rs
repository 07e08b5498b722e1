//! The door itself: the one table that an object exports, at its entry address.
//!
//! How something new is made to cross stands at the crate, under "Adding a subject". In short: a
//! row in a file of this folder, a function in a table, its two sides in `inside/` and `outside/`,
//! its sum in `several.rs`, and one more `VERSION`. The end of [`Functions`] is the end of the door.

use super::{
    BufferRow, Code, Each, Host, ImageRow, Inserter, Report, Row, Services, Slice, StateFunctions,
    Text, This,
};
use core::mem::offset_of;
use ppin_api::{Call, Knob};
use ppin_plugin::door;

/// See [`ppin_plugin::door`], which reads it up to the functions.
#[derive(Debug)]
#[repr(C)]
pub struct Door {
    /// [`door::MAGIC`].
    pub magic: [u8; 8],
    /// [`door::VERSION`].
    pub version: u32,
    /// Length of this table.
    pub length: u32,
    /// [`door::hash`] of the opcodes' names.
    pub opcodes: u64,
    /// Name of the tool.
    pub name: Text<'static>,
    /// What it tells.
    pub summary: Text<'static>,
    /// Its knobs.
    pub knobs: Slice<'static, KnobRow>,
    /// What it does.
    pub functions: Functions,
}

/// A knob.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KnobRow {
    /// Name.
    pub name: Text<'static>,
    /// Value if not given.
    pub default: Text<'static>,
    /// What it does.
    pub help: Text<'static>,
    /// [`door::CHANGES_CODE`] and others.
    pub flags: u64,
}

/// A knob that was given, with its value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pair<'a> {
    /// Name.
    pub name: Text<'a>,
    /// Value.
    pub value: Text<'a>,
}

/// Most arguments of a routine.
const MAX_ARGS: usize = Call::MAX_ARGS;

/// An analysis routine.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RoutineRow {
    /// Name.
    pub name: Text<'static>,
    /// Address of its machine code, if it is a plain function; 0: it needs the host.
    pub address: usize,
    /// Number of its parameters, if it is a plain function.
    pub parameters: usize,
    /// What each of them is: one of [`parameter`].
    pub kinds: [u8; MAX_ARGS],
    /// What it returns: one of [`parameter`], but no state.
    pub result: u8,
}

/// Kinds of parameters.
pub mod parameter {
    /// A word of 64 bits.
    pub const WORD: u8 = 0;
    /// The low half of one.
    pub const HALF: u8 = 1;
    /// A truth value.
    pub const BOOL: u8 = 2;
    /// The address of a thread's copy of a state.
    pub const STATE: u8 = 3;
    /// Of a result: there is none.
    pub const NONE: u8 = 4;
}

impl Row for RoutineRow {
    type Lent<'a> = Self;
}

/// A function for each method of `Tool`; `this` is what `open` has returned.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Functions {
    /// Makes a tool with its knobs at their defaults. Both stay valid until the process ends.
    pub open: extern "C" fn(services: &'static Services) -> This,
    /// `configure`; an error is passed once. Called before any other function but `open`.
    pub configure:
        extern "C" fn(this: This, pairs: Slice<'_, Pair<'_>>, error: Each<Text<'static>>),
    /// `distinguishes_blocks`.
    pub distinguishes_blocks: extern "C" fn(this: This) -> bool,
    /// `global_counters`.
    pub global_counters: extern "C" fn(this: This) -> u32,
    /// `image_counters`.
    pub image_counters: extern "C" fn(this: This) -> u32,
    /// `routines`, in order.
    pub routines: extern "C" fn(this: This, each: Each<RoutineRow>),
    /// `states`.
    pub states: StateFunctions,
    /// `buffers`, in order.
    pub buffers: extern "C" fn(this: This, each: Each<BufferRow<'static>>),
    /// `buffer_full`.
    pub buffer_full:
        extern "C" fn(this: This, host: Host<'_>, buffer: u16, thread: u32, records: Slice<'_, u8>),
    /// `instrument`.
    pub instrument: extern "C" fn(this: This, code: &Code, to: &Inserter),
    /// Runs a routine with these arguments.
    pub analyse: extern "C" fn(this: This, routine: u16, host: Host<'_>, args: Slice<'_, u64>),
    /// `start`.
    pub start: extern "C" fn(this: This, host: Host<'_>),
    /// `thread_start`.
    pub thread_start: extern "C" fn(this: This, host: Host<'_>, thread: u32),
    /// `thread_fini`.
    pub thread_fini: extern "C" fn(this: This, host: Host<'_>, thread: u32),
    /// `image_load`.
    pub image_load: extern "C" fn(this: This, host: Host<'_>, image: &ImageRow<'_>),
    /// `image_unload`.
    pub image_unload: extern "C" fn(this: This, host: Host<'_>, image: &ImageRow<'_>),
    /// `fork_child`.
    pub fork_child: extern "C" fn(this: This, host: Host<'_>),
    /// `fini`.
    pub fini: extern "C" fn(this: This, host: Host<'_>, report: &Report),
}

/// The rows of `N` knobs, all of `knobs`.
#[must_use]
pub const fn knob_rows<const N: usize>(knobs: &'static [Knob]) -> [KnobRow; N] {
    const EMPTY: KnobRow = KnobRow {
        name: Text::of(""),
        default: Text::of(""),
        help: Text::of(""),
        flags: 0,
    };
    let (mut rows, mut n) = ([EMPTY; N], 0);
    while n < N {
        let Knob {
            name,
            default,
            help,
            changes_code,
            writes_file,
        } = knobs[n];
        let changes = changes_code as u64 * door::CHANGES_CODE;
        let writes = writes_file as u64 * door::WRITES_FILE;
        rows[n] = KnobRow {
            name: Text::of(name),
            default: Text::of(default),
            help: Text::of(help),
            flags: changes | writes,
        };
        n += 1;
    }
    rows
}

const _: () = {
    assert!(offset_of!(Door, version) == door::AT_VERSION);
    assert!(offset_of!(Door, length) == door::AT_LENGTH);
    assert!(offset_of!(Door, opcodes) == door::AT_OPCODES);
    assert!(offset_of!(Door, name) == door::AT_NAME);
    assert!(offset_of!(Door, summary) == door::AT_SUMMARY);
    assert!(offset_of!(Door, knobs) == door::AT_KNOBS);
    assert!(offset_of!(Door, functions) == door::AT_FUNCTIONS);
    assert!(size_of::<Text<'_>>() == door::TEXT);
    assert!(size_of::<KnobRow>() == door::KNOB);
    assert!(size_of::<Door>() <= door::MAX_LENGTH as usize);
};
