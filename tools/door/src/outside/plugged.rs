//! The tool.
#![allow(unsafe_code)]

use super::insertion::Taken;
use super::pieces::Pieces;
use super::{about, buffer, code, host, routine, state};
use crate::table::{Door, Each, Functions, Pair, RoutineRow, Services, Slice, Text, This};
use alloc::string::String;
use alloc::vec::Vec;
use ppin_api::compiler::{CodeBytes, Limits};
use ppin_api::{
    About, Buffer, BufferId, Call, Host, ImageInfo, Report, Routine, RoutineId, State, ThreadId,
    Tool, Trace,
};
use ppin_plugin::{Card, Object, Rights};

/// A tool whose code lies in an object that was loaded.
#[derive(Debug)]
pub struct Plugged {
    about: &'static About,
    functions: Functions,
    this: This,
    routines: &'static [Routine],
    states: &'static [State],
    buffers: &'static [Buffer],
    pieces: Pieces,
}

// SAFETY: the state behind `this` is that of a `Tool`, which is `Send`.
unsafe impl Send for Plugged {}
// SAFETY: the state behind `this` is that of a `Tool`, which is `Sync`.
unsafe impl Sync for Plugged {}

impl Plugged {
    /// A new tool of the object that lies at `base`, with its knobs at their defaults. Several
    /// tools of one object have each a state of its own.
    ///
    /// # Safety
    /// - `card` was read from `object`, so that its door is as this crate defines it;
    /// - `object` was laid out at `base`, its pages have the rights that it asks for, and they
    ///   stay as they are until the process ends.
    #[must_use]
    pub unsafe fn open(
        object: &Object<'_>,
        base: u64,
        card: Card,
        services: &'static Services,
    ) -> Self {
        // SAFETY: the caller's contract; the door lies there.
        let door = unsafe { &*((base + object.door()) as *const Door) };
        let about = about::about(card);
        Self::through(door, about, read_only(object, base), services)
    }

    /// The tool behind `door`, whose object has these read-only pieces.
    pub(crate) fn through(
        door: &Door,
        about: &'static About,
        pieces: Pieces,
        services: &'static Services,
    ) -> Self {
        let functions = door.functions;
        let mut tool = Self {
            about,
            this: (functions.open)(services),
            functions,
            routines: &[],
            states: &[],
            buffers: &[],
            pieces,
        };
        tool.learn_declared();
        tool
    }

    fn learn_declared(&mut self) {
        let mut all = Vec::new();
        let mut take = |row: &RoutineRow| {
            all.push(routine::routine(row));
        };
        (self.functions.routines)(self.this, Each::new(&mut take));
        self.routines = all.leak();
        self.states = state::states(self.this, self.functions.states);
        self.buffers = buffer::buffers(self.this, &self.functions);
    }
}

/// The pieces of the object that nobody writes to.
fn read_only(object: &Object<'_>, base: u64) -> Pieces {
    let segments = object.segments().iter();
    let fixed = segments.filter(|segment| segment.rights != Rights::Write);
    let bytes = |at: u64, len: u64| {
        // SAFETY: a segment of the object, which stays as it is.
        unsafe { core::slice::from_raw_parts((base + at) as *const u8, len as usize) }
    };
    let links = object.links();
    Pieces {
        bytes: fixed
            .map(|s| (base + s.at, bytes(s.at, s.memory)))
            .collect(),
        links: links.map(|(at, to)| (base + at, base + to)).collect(),
    }
}

impl Tool for Plugged {
    fn about(&self) -> &'static About {
        self.about
    }

    fn configure(&mut self, knobs: &[(&str, &str)]) -> Result<(), String> {
        let pairs = knobs.iter().map(|&(name, value)| Pair {
            name: Text::of(name),
            value: Text::of(value),
        });
        let pairs: Vec<_> = pairs.collect();
        let mut error = None;
        let mut take = |why: &Text<'_>| error = Some(String::from(why.text()));
        (self.functions.configure)(self.this, Slice::new(&pairs), Each::new(&mut take));
        self.learn_declared();
        error.map_or(Ok(()), Err)
    }

    fn distinguishes_blocks(&self) -> bool {
        (self.functions.distinguishes_blocks)(self.this)
    }

    fn global_counters(&self) -> u32 {
        (self.functions.global_counters)(self.this)
    }

    fn image_counters(&self) -> u32 {
        (self.functions.image_counters)(self.this)
    }

    fn instrument(&self, trace: &Trace<'_>) {
        let seen = trace.code();
        let mut taken = Taken::new(seen.source.count(), Limits::of(self));
        let inserter = taken.inserter();
        (self.functions.instrument)(self.this, &code::code(&seen), &inserter);
        assert!(!taken.refused, "{} inserts what it may not", self.name());
        trace.insert(taken.all);
    }

    fn routines(&self) -> &'static [Routine] {
        self.routines
    }

    fn states(&self) -> &'static [State] {
        self.states
    }

    fn buffers(&self) -> &'static [Buffer] {
        self.buffers
    }

    fn buffer_full(&self, host: &dyn Host, buffer: BufferId, thread: ThreadId, records: &[u8]) {
        let (records, host) = (Slice::new(records), host::host(&host));
        (self.functions.buffer_full)(self.this, host, buffer.0, thread.0, records);
    }

    fn analyse(&self, routine: RoutineId, call: &Call<'_>) {
        if usize::from(routine.0) < self.routines.len() {
            let args = Slice::new(&call.args);
            (self.functions.analyse)(self.this, routine.0, host::host(&call.host), args);
        }
    }

    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&self.pieces)
    }

    fn start(&self, host: &dyn Host) {
        (self.functions.start)(self.this, host::host(&host));
    }

    fn thread_start(&self, host: &dyn Host, thread: ThreadId) {
        (self.functions.thread_start)(self.this, host::host(&host), thread.0);
    }

    fn thread_fini(&self, host: &dyn Host, thread: ThreadId) {
        (self.functions.thread_fini)(self.this, host::host(&host), thread.0);
    }

    fn image_load(&self, host: &dyn Host, image: &ImageInfo) {
        (self.functions.image_load)(self.this, host::host(&host), &host::image(image));
    }

    fn image_unload(&self, host: &dyn Host, image: &ImageInfo) {
        (self.functions.image_unload)(self.this, host::host(&host), &host::image(image));
    }

    fn fork_child(&self, host: &dyn Host) {
        (self.functions.fork_child)(self.this, host::host(&host));
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let mut report = report;
        (self.functions.fini)(self.this, host::host(&host), &host::report(&mut report));
    }
}
