//! Linking direct exits, and taking links back.
//!
//! An exit is linked by storing the target in its slot; where the code is fresh,
//! the branch itself is aimed at the target too. Both are aligned stores, so a
//! thread that runs through them sees the old target or the new one.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use hashbrown::HashMap;
use ppin_abi::record::ExitRec;

/// What a link replaced.
#[derive(Debug, Clone, Copy)]
struct Link {
    slot: u64,
    old_slot: u64,
    /// Address of the branch field and its old value, where patched.
    branch: Option<(u64, i32)>,
}

impl Link {
    fn undo(self) {
        if let Some((addr, old)) = self.branch {
            field(addr).store(old, Ordering::Relaxed);
        }
        slot(self.slot).store(self.old_slot, Ordering::Relaxed);
    }
}

/// Links by the cache address they lead to.
#[derive(Debug, Default)]
pub struct Links(HashMap<u64, Vec<Link>>);

fn slot(addr: u64) -> &'static AtomicU64 {
    // SAFETY: slots are aligned, mapped cells that live as long as their code, which
    // is not freed while it can be reached.
    unsafe { AtomicU64::from_ptr(addr as *mut u64) }
}

fn field(addr: u64) -> &'static AtomicI32 {
    // SAFETY: as for slots; branch fields are 4-aligned by the compiler.
    unsafe { AtomicI32::from_ptr(addr as *mut i32) }
}

fn relative(record: u64, distance: i32) -> u64 {
    record.wrapping_add(i64::from(distance) as u64)
}

impl Links {
    /// Links the exit whose record lies at `record` to cache address `entry`.
    /// `writable`: its code is fresh and its branch may be patched.
    pub fn link(&mut self, record: u64, exit: &ExitRec, entry: u64, writable: bool) {
        let slot_addr = relative(record, exit.slot);
        let old_slot = slot(slot_addr).swap(entry, Ordering::Relaxed);
        let branch = writable
            .then(|| aim(relative(record, exit.branch), entry))
            .flatten();
        let link = Link {
            slot: slot_addr,
            old_slot,
            branch,
        };
        self.0.entry(entry).or_default().push(link);
    }

    /// Undoes every link to `entry`.
    pub fn unlink(&mut self, entry: u64) {
        for link in self.0.remove(&entry).unwrap_or_default() {
            link.undo();
        }
    }

    /// Undoes every link.
    pub fn undo(mut self) {
        for link in self.0.drain().flat_map(|(_, links)| links) {
            link.undo();
        }
    }

    /// Undoes every link into `start .. end` (cache) from outside, and forgets those
    /// whose code lies there.
    pub fn forget(&mut self, start: u64, end: u64) {
        let inside = |addr: u64| (start..end).contains(&addr);
        let targets: Vec<u64> = self.0.keys().copied().filter(|t| inside(*t)).collect();
        for links in self.0.values_mut() {
            links.retain(|l| !inside(l.slot));
        }
        for target in targets {
            self.unlink(target);
        }
    }
}

/// Aims the rel32 at `addr` at `entry`; `None` beyond reach.
fn aim(addr: u64, entry: u64) -> Option<(u64, i32)> {
    let distance = i32::try_from(entry.wrapping_sub(addr + 4) as i64).ok()?;
    Some((addr, field(addr).swap(distance, Ordering::Relaxed)))
}
