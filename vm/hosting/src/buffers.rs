//! Hands the records of buffers to the tool.

use super::host::EngineHost;
use alloc::vec::Vec;
use ppin_api::{BufferId, ThreadId, Tool};
use ppin_process::buffers::{self, append, claim, claim_copy, restart};
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Locked};

/// `buffer` of the running thread is full.
pub fn full(thread: &mut Thread, buffer: u16) {
    let tool = vm::lock().tool();
    hand_over(tool, thread, buffer);
}

/// `thread` has run its last instruction.
pub fn of_thread(thread: &mut Thread) {
    let tool = vm::lock().tool();
    for buffer in 0..buffers::count(tool) as u16 {
        hand_over(tool, thread, buffer);
    }
}

/// Hands over what `thread`, which does not run, has appended, and begins anew.
fn hand_over(tool: &dyn Tool, thread: &mut Thread, buffer: u16) {
    let records = {
        let _vm = vm::lock();
        claim(thread, buffer)
    };
    tell(tool, thread.index, buffer, records);
    let _vm = vm::lock();
    restart(thread, buffer);
}

/// Copies of the process that only check it tell the tool nothing.
fn tell(tool: &dyn Tool, thread: u32, buffer: u16, records: &[u8]) {
    if !records.is_empty() && !buffers::are_dropped() {
        tool.buffer_full(&EngineHost, BufferId(buffer), ThreadId(thread), records);
    }
}

/// The process ends: hands over what all threads have appended. Others may still run.
pub fn of_all(locked: &mut Locked) {
    let tool = locked.tool();
    let buffers = 0..buffers::count(tool) as u16;
    if buffers.is_empty() {
        return;
    }
    let threads: Vec<u32> = locked.threads().all().map(|t| t.index).collect();
    for (index, buffer) in threads
        .iter()
        .flat_map(|t| buffers.clone().map(|b| (*t, b)))
    {
        let thread = locked.threads().all().find(|t| t.index == index);
        let records = thread.map_or_else(Vec::new, |thread| claim_copy(thread, buffer));
        locked.unlocked(|| tell(tool, index, buffer, &records));
    }
}

/// Appends a record with the fields `values`, where code in line is not wanted.
pub fn append_record(thread: &mut Thread, buffer: u16, values: &[u64]) {
    let tool = vm::lock().tool();
    let Some(declared) = tool.buffers().get(usize::from(buffer)) else {
        return;
    };
    let mut record = alloc::vec![0; declared.size as usize];
    for (field, value) in declared.fields.iter().zip(values) {
        let place = record.get_mut(field.offset as usize..).unwrap_or_default();
        let bytes = value.to_le_bytes();
        for (to, from) in place.iter_mut().zip(&bytes[..field.bytes as usize]) {
            *to = *from;
        }
    }
    if !append(thread, buffer, &record) {
        hand_over(tool, thread, buffer);
        let _ = append(thread, buffer, &record);
    }
}
