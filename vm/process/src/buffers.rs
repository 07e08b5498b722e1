//! Buffers for records: each thread has memory of its own for each, below its stacks
//! ([`ppin_abi::buffers`]).
//!
//! The thread appends without a lock. What it has appended is handed to the tool once: the VM lock
//! is held while it is claimed. A record is complete when the position is behind it, so other
//! threads may claim records of a thread that runs.

use crate::thread::Thread;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use ppin_abi::buffers::{self, BEYOND, END, START};
use ppin_api::Tool;

/// How many buffers each thread has under `tool`.
#[must_use]
pub fn count(tool: &dyn Tool) -> usize {
    tool.buffers().len().min(buffers::MAX_BUFFERS)
}

static DROPPED: AtomicBool = AtomicBool::new(false);

/// This process is a copy that only checks another: the tool is told of no record.
pub fn drop_all() {
    DROPPED.store(true, Relaxed);
}

/// Whether records are dropped.
pub fn are_dropped() -> bool {
    DROPPED.load(Relaxed)
}

/// Empties all buffers of `thread`: what they hold is nobody's, or another process's.
pub fn forget(thread: &mut Thread) {
    for buffer in 0..buffers::MAX_BUFFERS as u16 {
        if !is_empty(thread, buffer) {
            restart(thread, buffer);
        }
    }
}

/// Whether nothing was appended since the buffer began. (What is not written to stays shared with
/// forked children.)
fn is_empty(thread: &Thread, buffer: u16) -> bool {
    let n = usize::from(buffer);
    [thread.area.positions[n], thread.claimed[n].load(Relaxed)] == [u64::from(START); 2]
}

/// The records of `thread` in `buffer` that have not been claimed yet; they are claimed. The VM lock
/// is held.
pub fn claim(thread: &Thread, buffer: u16) -> &[u8] {
    let n = usize::from(buffer);
    let to = position(thread, buffer);
    let from = thread.claimed[n].swap(to, Relaxed);
    // Behind a handler the position may be that of earlier records for a moment.
    if from < to {
        bytes(thread, buffer, from, to)
    } else {
        &[]
    }
}

/// The same, for a thread that may go on meanwhile.
#[must_use]
pub fn claim_copy(thread: &Thread, buffer: u16) -> Vec<u8> {
    claim(thread, buffer).to_vec()
}

/// Begins anew, behind [`claim`]. The VM lock is held, or no other thread knows this one.
pub fn restart(thread: &mut Thread, buffer: u16) {
    let n = usize::from(buffer);
    thread.area.positions[n] = START.into();
    thread.claimed[n].store(START.into(), Relaxed);
}

/// Appends `record` to `buffer`, which there is. `false`: there is no room.
#[must_use]
pub fn append(thread: &mut Thread, buffer: u16, record: &[u8]) -> bool {
    let at = position(thread, buffer);
    if at >= END.into() {
        return false;
    }
    let to = address(thread, buffer, at) as *mut u8;
    // SAFETY: inside the buffer, of which BEYOND bytes lie behind END; the thread itself appends.
    unsafe { to.copy_from_nonoverlapping(record.as_ptr(), record.len().min(BEYOND as usize)) };
    thread.area.positions[usize::from(buffer)] = at + record.len() as u64;
    true
}

/// Whether code of `thread` that was left in the middle of a block may go on there: it does not
/// look whether there is room.
#[must_use]
pub fn have_room(thread: &Thread) -> bool {
    let mut positions = thread.area.positions.iter();
    positions.all(|position| buffers::has_room(*position))
}

/// Where the next record goes; the thread may be running.
fn position(thread: &Thread, buffer: u16) -> u64 {
    let cell = &raw const thread.area.positions[usize::from(buffer)];
    // SAFETY: a field of a valid structure.
    let position = unsafe { cell.read_volatile() };
    position.clamp(START.into(), (END + BEYOND).into())
}

fn address(thread: &Thread, buffer: u16, position: u64) -> u64 {
    let memory = i64::from(buffers::memory(buffer));
    (thread.area.self_ptr + position).wrapping_add_signed(memory)
}

fn bytes(thread: &Thread, buffer: u16, from: u64, to: u64) -> &[u8] {
    let start = address(thread, buffer, from) as *const u8;
    // SAFETY: inside the buffer; records below the position are not written to before `restart`.
    unsafe { core::slice::from_raw_parts(start, (to - from) as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn records_are_claimed_once_and_in_order() {
        let thread = testing::thread(1);
        assert!(claim(thread, 1).is_empty());
        assert!(append(thread, 1, &[1, 2]) && append(thread, 1, &[3]));
        assert!(append(thread, 0, &[9]));
        assert_eq!(claim(thread, 1), [1, 2, 3]);
        assert!(claim(thread, 1).is_empty());
        assert!(append(thread, 1, &[4]));
        assert_eq!(claim_copy(thread, 1), [4]);
        restart(thread, 1);
        assert!(append(thread, 1, &[5]));
        assert_eq!((claim(thread, 1), claim(thread, 0)), (&[5][..], &[9][..]));
    }

    #[test]
    fn a_full_buffer_takes_no_record_until_it_begins_anew() {
        let thread = testing::thread(1);
        let record = [7; 4096];
        while append(thread, 0, &record) {}
        assert_eq!(claim(thread, 0).len(), buffers::BYTES as usize);
        assert!(have_room(thread), "for the rest of a block");
        thread.area.positions[1] = (END + BEYOND).into();
        assert!(!have_room(thread));
        restart(thread, 0);
        assert!(append(thread, 0, &record));
    }

    #[test]
    fn a_forked_child_has_no_records() {
        let thread = testing::thread(1);
        assert!(append(thread, 0, &[1]) && append(thread, 1, &[2]));
        forget(thread);
        assert!(claim(thread, 0).is_empty() && claim(thread, 1).is_empty());
    }

    #[test]
    fn taken_back_records_are_none() {
        let thread = testing::thread(1);
        assert!(append(thread, 0, &[1; 48]));
        assert_eq!(claim(thread, 0).len(), 48);
        thread.area.positions[0] -= 24;
        assert!(claim(thread, 0).is_empty());
        thread.area.positions[0] -= u64::from(START);
        assert!(claim(thread, 0).is_empty());
    }
}
