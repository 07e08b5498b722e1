//! Which calls enter the VM: the gate ([`super::syscall`]) looks here by number.

use super::numbers::{
    EXEC, FILLING, FOLDERS, KILLING, LOOKUPS, MEMORY, OPENING, OTHER, PROCESS, RANGES, READING,
    SIGNALS, SUSPENDING, WRITING,
};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use ppin_os::c;

/// One byte per number: 0 if the gate makes the call, [`VM`] if the VM handles it.
pub static SLOW: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];
/// The VM handles it.
const VM: u8 = 1;
/// The app has opened its own memory.
static WRITES: AtomicBool = AtomicBool::new(false);
/// It has made processes that share its memory.
static KILLS: AtomicBool = AtomicBool::new(false);
/// It has opened a list of its mappings.
static READS: AtomicBool = AtomicBool::new(false);
/// It has opened the folder of its mapped files.
static SEES: AtomicBool = AtomicBool::new(false);
/// Code that the app may write to is guarded.
static FILLS: AtomicBool = AtomicBool::new(false);
/// The gate lets none pass until [`some`].
static EVERY: AtomicBool = AtomicBool::new(false);
/// Some thread wants to see all of its calls; from then on the gate lets none pass.
static ALL: AtomicBool = AtomicBool::new(false);
/// More numbers than there are system calls: others fail whoever looks.
const NUMBERS: usize = 512;

/// Lists the calls that the VM must know of.
pub fn fill() {
    let families = [
        MEMORY, RANGES, SIGNALS, SUSPENDING, PROCESS, EXEC, OPENING, OTHER,
    ];
    for nr in families.into_iter().flatten() {
        watch(*nr);
    }
    watch(c::__NR_rt_sigtimedwait);
    watch(c::__NR_ptrace);
    watch(c::__NR_process_vm_writev);
    if watches_writes() {
        watch_writes();
    }
    if READS.load(Ordering::Relaxed) {
        watch_reads(true);
    }
    if KILLS.load(Ordering::Relaxed) {
        watch_kills();
    }
    if SEES.load(Ordering::Relaxed) {
        watch_folders();
    }
    if watches_fills() {
        list(FILLING);
    }
}

/// Lists all calls of [`READING`] and those that ask, or does not any more.
pub fn watch_reads(yes: bool) {
    READS.store(yes, Ordering::Relaxed);
    let all = EVERY.load(Ordering::Relaxed) || ALL.load(Ordering::Relaxed);
    for nr in READING {
        let slow = if yes || all || watches_fills() { VM } else { 0 };
        SLOW[*nr as usize].store(slow, Ordering::Relaxed);
    }
    let asks = if yes || all { VM } else { 0 };
    SLOW[c::__NR_ioctl as usize].store(asks, Ordering::Relaxed);
}

/// Lists all calls that read folders and follow paths, for good.
pub fn watch_folders() {
    SEES.store(true, Ordering::Relaxed);
    list(FOLDERS);
    list(LOOKUPS);
}

/// Lists all calls of [`KILLING`], for good.
pub fn watch_kills() {
    KILLS.store(true, Ordering::Relaxed);
    list(KILLING);
}

/// Lists all calls of [`WRITING`], for good.
pub fn watch_writes() {
    WRITES.store(true, Ordering::Relaxed);
    list(WRITING);
}

/// Lists all calls of [`FILLING`], for good.
pub fn watch_fills() {
    if FILLS.swap(true, Ordering::Relaxed) {
        return;
    }
    list(FILLING);
}

/// Whether [`watch_fills`] has been called.
pub fn watches_fills() -> bool {
    FILLS.load(Ordering::Relaxed)
}

/// Whether [`watch_writes`] has been called.
pub fn watches_writes() -> bool {
    WRITES.load(Ordering::Relaxed)
}

fn list(numbers: &[u32]) {
    for nr in numbers {
        watch(*nr);
    }
}

/// Lists one more.
pub fn watch(nr: u32) {
    SLOW[nr as usize].store(VM, Ordering::Relaxed);
}

/// Lists all numbers, until [`some`].
pub fn every() {
    EVERY.store(true, Ordering::Relaxed);
    set(&SLOW[..NUMBERS], VM);
}

/// Lists all numbers for good.
pub fn every_for_good() {
    ALL.store(true, Ordering::Relaxed);
    set(&SLOW, VM);
}

/// Back to those that the VM must know of.
pub fn some() {
    EVERY.store(false, Ordering::Relaxed);
    if !ALL.load(Ordering::Relaxed) {
        set(&SLOW[..NUMBERS], 0);
        fill();
    }
}

fn set(numbers: &[AtomicU8], slow: u8) {
    for byte in numbers {
        byte.store(slow, Ordering::Relaxed);
    }
}
