//! Signal handling in the copies.

use super::record::Record;
use super::{native, translated};
use crate::signal::traps;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::peek;
use ppin_process::thread::Thread;

/// Role of this process in a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Role {
    /// The program, or a child of it.
    Program = 0,
    /// The copy that runs translated code.
    Translated,
    /// The copy that runs the app's own code.
    Native,
}

static ROLE: AtomicU32 = AtomicU32::new(Role::Program as u32);
static RECORD: AtomicPtr<Record> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the role of this process, which is a copy.
pub(super) fn begin(role: Role, record: *mut Record) {
    RECORD.store(record, Relaxed);
    ROLE.store(role as u32, Relaxed);
}

/// Whether this process is a copy.
#[must_use]
pub(crate) fn in_copy() -> bool {
    ROLE.load(Relaxed) != Role::Program as u32
}

/// Called on VM entry: in a copy, this ends the sample.
#[inline]
pub(crate) fn left_cache() {
    if in_copy() {
        translated::finish(record());
    }
}

/// The record, which only this copy uses at the moment.
fn record<'a>() -> &'a mut Record {
    // SAFETY: set by `begin`; the copies take turns, and the program waits. Callers are
    // the ends of the copy's few entries into the engine, and none holds it across one.
    unsafe { &mut *RECORD.load(Relaxed) }
}

/// Handles every signal of a copy.
pub(crate) fn on_signal(thread: &mut Thread, signal: u32, info: &SigInfo, context: &mut UContext) {
    let stepped = traps::ends_step(signal, info, context);
    if let Some(resume) = peek::fixup(context.gregs[greg::RIP]).filter(|_| !stepped) {
        context.gregs[greg::RIP] = resume;
        return;
    }
    if ROLE.load(Relaxed) == Role::Translated as u32 {
        translated::on_signal(thread, record(), stepped, context);
    } else {
        native::on_signal(thread, record(), (signal, stepped), context);
    }
}
