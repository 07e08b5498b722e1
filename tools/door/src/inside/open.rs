//! Making a tool, and the functions that are asked of it.
#![allow(unsafe_code)]

use super::{callbacks, code, heap, host, insertion, state};
use crate::table::{
    BufferRow, Code, Door, Each, FieldRow, Functions, Host, Inserter, KnobRow, Pair, RoutineRow,
    Services, Slice, Text, This, parameter,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ppin_api::compiler::{Limits, OPCODE_NAMES};
use ppin_api::{About, Call, Field, Outcome, Parameter, Routine, RoutineId, Tool, Trace};
use ppin_plugin::door;

impl Door {
    /// The door of tool `T`.
    #[must_use]
    pub const fn of<T: Tool + Default>(about: &'static About, knobs: &'static [KnobRow]) -> Self {
        Self {
            magic: door::MAGIC,
            version: door::VERSION,
            length: size_of::<Self>() as u32,
            opcodes: door::hash(OPCODE_NAMES.as_bytes()),
            name: Text::of(about.name),
            summary: Text::of(about.summary),
            knobs: Slice::new(knobs),
            functions: functions::<T>(),
        }
    }
}

const fn functions<T: Tool + Default>() -> Functions {
    Functions {
        open: open::<T>,
        configure: configure::<T>,
        distinguishes_blocks: distinguishes_blocks::<T>,
        global_counters: global_counters::<T>,
        image_counters: image_counters::<T>,
        routines: routines::<T>,
        states: state::functions::<T>(),
        buffers: buffers::<T>,
        buffer_full: callbacks::buffer_full::<T>,
        instrument: instrument::<T>,
        analyse: analyse::<T>,
        start: callbacks::start::<T>,
        thread_start: callbacks::thread_start::<T>,
        thread_fini: callbacks::thread_fini::<T>,
        image_load: callbacks::image_load::<T>,
        image_unload: callbacks::image_unload::<T>,
        fork_child: callbacks::fork_child::<T>,
        fini: callbacks::fini::<T>,
    }
}

/// The tool that [`open`] has made.
pub fn tool<'a, T>(this: This) -> &'a T {
    // SAFETY: made by `open` of the same type, never freed, and only shared after `configure`.
    unsafe { &*this.cast::<T>() }
}

extern "C" fn open<T: Tool + Default>(services: &'static Services) -> This {
    heap::use_services(services);
    Box::into_raw(Box::<T>::default()).cast_const().cast()
}

extern "C" fn configure<T: Tool>(
    this: This,
    pairs: Slice<'_, Pair<'_>>,
    error: Each<Text<'static>>,
) {
    let pairs = pairs.get().iter();
    let pairs: Vec<_> = pairs.map(|p| (p.name.text(), p.value.text())).collect();
    // SAFETY: as for `tool`; it is not shared yet.
    let tool = unsafe { &mut *this.cast_mut().cast::<T>() };
    if let Err(why) = tool.configure(&pairs) {
        error.give(&Text::of(&why));
    }
}

extern "C" fn distinguishes_blocks<T: Tool>(this: This) -> bool {
    tool::<T>(this).distinguishes_blocks()
}

extern "C" fn global_counters<T: Tool>(this: This) -> u32 {
    tool::<T>(this).global_counters()
}

extern "C" fn image_counters<T: Tool>(this: This) -> u32 {
    tool::<T>(this).image_counters()
}

extern "C" fn routines<T: Tool>(this: This, each: Each<RoutineRow>) {
    let routines = tool::<T>(this).routines();
    routines.iter().for_each(|one| each.give(&routine_row(one)));
}

extern "C" fn buffers<T: Tool>(this: This, each: Each<BufferRow<'static>>) {
    let row = |field: &Field| FieldRow {
        name: Text::of(field.name),
        offset: field.offset,
        bytes: field.bytes,
    };
    for buffer in tool::<T>(this).buffers() {
        let fields: Vec<_> = buffer.fields.iter().map(row).collect();
        each.give(&BufferRow {
            name: Text::of(buffer.name),
            size: buffer.size,
            fields: Slice::new(&fields),
        });
    }
}

fn routine_row(routine: &Routine) -> RoutineRow {
    let mut row = RoutineRow {
        name: Text::of(routine.name),
        address: 0,
        parameters: 0,
        kinds: [parameter::WORD; _],
        result: parameter::NONE,
    };
    if let Some(function) = routine.plain() {
        let parameters = function.parameters();
        row.result = match function.outcome() {
            Outcome::None => parameter::NONE,
            Outcome::Word => parameter::WORD,
            Outcome::Half => parameter::HALF,
            Outcome::Bool => parameter::BOOL,
        };
        row.address = function.address();
        row.parameters = parameters.as_slice().len();
        for (to, from) in row.kinds.iter_mut().zip(parameters.as_slice()) {
            *to = match from {
                Parameter::Word => parameter::WORD,
                Parameter::Half => parameter::HALF,
                Parameter::Bool => parameter::BOOL,
                Parameter::State(_) => parameter::STATE,
            };
        }
    }
    row
}

extern "C" fn instrument<T: Tool>(this: This, code: &Code, to: &Inserter) {
    let tool = tool::<T>(this);
    let source = code::Remote::new(code);
    let trace = Trace::new(&source, source.image(), code.continues, Limits::of(tool));
    tool.instrument(&trace);
    insertion::give(&trace.into_insertions(), to);
}

extern "C" fn analyse<T: Tool>(this: This, routine: u16, host: Host<'_>, args: Slice<'_, u64>) {
    let tool = tool::<T>(this);
    let mut all = [0; _];
    for (to, from) in all.iter_mut().zip(args.get()) {
        *to = *from;
    }
    let call = Call {
        tool,
        host: &host::Remote(host),
        args: all,
    };
    tool.analyse(RoutineId(routine), &call);
}
