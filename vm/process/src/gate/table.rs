//! Table of the system calls that enter the VM; the gate ([`super::syscall`]) reads it by number.

use super::numbers::{
    EXEC, FILLING, FOLDERS, KILLING, LOOKUPS, MEMORY, OPENING, OTHER, PROCESS, RANGES, READING,
    SIGNALS, SUSPENDING, WRITING,
};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use ppin_os::c;

/// One byte per number: 0 if the gate makes the call, [`VM`] if the VM handles it.
pub static SLOW: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];
/// Value for a call that the VM handles.
const VM: u8 = 1;
/// The app has opened its own memory (`/proc/PID/mem`) for writing.
static OWN_MEMORY_OPENED: AtomicBool = AtomicBool::new(false);
/// The app has made processes that share its memory.
static MEMORY_SHARED: AtomicBool = AtomicBool::new(false);
/// The app has opened a list of its mappings.
static LISTING_OPENED: AtomicBool = AtomicBool::new(false);
/// The app has opened the folder of its mapped files (`/proc/PID/map_files`).
static FOLDER_OPENED: AtomicBool = AtomicBool::new(false);
/// The app handles signals with the numbers of faults.
static FAULTS_HANDLED: AtomicBool = AtomicBool::new(false);
/// Code that the app may write to is guarded.
static CODE_GUARDED: AtomicBool = AtomicBool::new(false);
/// All calls enter the VM, until [`watch_needed`].
static ALL_FOR_NOW: AtomicBool = AtomicBool::new(false);
/// Some thread uses Syscall User Dispatch: all calls enter the VM for good.
static ALL_FOR_GOOD: AtomicBool = AtomicBool::new(false);
/// Upper bound of the system call numbers; higher ones fail without the VM.
const NUMBERS: usize = 512;

/// Enters the calls that the VM must handle into the table.
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
    if LISTING_OPENED.load(Ordering::Relaxed) {
        watch_reads(true);
    }
    if MEMORY_SHARED.load(Ordering::Relaxed) {
        watch_kills();
    }
    if FAULTS_HANDLED.load(Ordering::Relaxed) {
        watch_sent_faults();
    }
    if FOLDER_OPENED.load(Ordering::Relaxed) {
        watch_folders();
    }
    if watches_fills() {
        list(FILLING);
    }
}

/// Has the calls of [`READING`] and ioctl(2) enter the VM (`yes`), or no longer.
pub fn watch_reads(yes: bool) {
    LISTING_OPENED.store(yes, Ordering::Relaxed);
    let all = ALL_FOR_NOW.load(Ordering::Relaxed) || ALL_FOR_GOOD.load(Ordering::Relaxed);
    for nr in READING {
        let slow = if yes || all || watches_fills() { VM } else { 0 };
        SLOW[*nr as usize].store(slow, Ordering::Relaxed);
    }
    let asks = if yes || all { VM } else { 0 };
    SLOW[c::__NR_ioctl as usize].store(asks, Ordering::Relaxed);
}

/// Has calls that read folders or follow paths enter the VM, for good.
pub fn watch_folders() {
    FOLDER_OPENED.store(true, Ordering::Relaxed);
    list(FOLDERS);
    list(LOOKUPS);
}

/// Has the calls of [`KILLING`] enter the VM, for good.
pub fn watch_kills() {
    MEMORY_SHARED.store(true, Ordering::Relaxed);
    list(KILLING);
}

/// Has calls that send signals to threads enter the VM, for good.
pub fn watch_sent_faults() {
    FAULTS_HANDLED.store(true, Ordering::Relaxed);
    list(&[c::__NR_tkill, c::__NR_tgkill]);
}

/// Has the calls of [`WRITING`] enter the VM, for good.
pub fn watch_writes() {
    OWN_MEMORY_OPENED.store(true, Ordering::Relaxed);
    list(WRITING);
}

/// Has the calls of [`FILLING`] enter the VM, for good.
pub fn watch_fills() {
    if CODE_GUARDED.swap(true, Ordering::Relaxed) {
        return;
    }
    list(FILLING);
}

/// Whether [`watch_fills`] has been called.
pub fn watches_fills() -> bool {
    CODE_GUARDED.load(Ordering::Relaxed)
}

/// Whether [`watch_writes`] has been called.
pub fn watches_writes() -> bool {
    OWN_MEMORY_OPENED.load(Ordering::Relaxed)
}

fn list(numbers: &[u32]) {
    for nr in numbers {
        watch(*nr);
    }
}

/// Has call `nr` enter the VM.
pub fn watch(nr: u32) {
    SLOW[nr as usize].store(VM, Ordering::Relaxed);
}

/// Has all calls enter the VM, until [`watch_needed`].
pub fn watch_all() {
    ALL_FOR_NOW.store(true, Ordering::Relaxed);
    set(&SLOW[..NUMBERS], VM);
}

/// Has all calls enter the VM, for good.
pub fn watch_all_for_good() {
    ALL_FOR_GOOD.store(true, Ordering::Relaxed);
    set(&SLOW, VM);
}

/// Ends [`watch_all`]: only the calls that the VM must handle enter it.
pub fn watch_needed() {
    ALL_FOR_NOW.store(false, Ordering::Relaxed);
    if !ALL_FOR_GOOD.load(Ordering::Relaxed) {
        set(&SLOW[..NUMBERS], 0);
        fill();
    }
}

fn set(numbers: &[AtomicU8], slow: u8) {
    for byte in numbers {
        byte.store(slow, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enters(nr: u32) -> bool {
        SLOW[nr as usize].load(Ordering::Relaxed) == VM
    }

    /// The table is one for the process: a single test.
    #[test]
    fn calls_enter_the_vm_as_long_as_one_reason_holds() {
        fill();
        assert!(enters(c::__NR_mmap) && enters(c::__NR_ptrace));
        assert!(
            ![c::__NR_read, c::__NR_getpid, c::__NR_kill]
                .iter()
                .any(|nr| enters(*nr))
        );

        watch_reads(true);
        assert!(enters(c::__NR_read) && enters(c::__NR_ioctl));
        watch_reads(false);
        assert!(!enters(c::__NR_read) && !enters(c::__NR_ioctl));

        watch_sent_faults();
        watch_needed();
        assert!(enters(c::__NR_tgkill) && !enters(c::__NR_kill));

        watch_kills();
        watch_all();
        assert!(enters(c::__NR_getpid));
        watch_reads(false);
        assert!(enters(c::__NR_read), "all calls still enter it");
        watch_needed();
        assert!(!enters(c::__NR_getpid) && enters(c::__NR_kill) && enters(c::__NR_mmap));

        watch_fills();
        watch_reads(true);
        watch_reads(false);
        assert!(
            enters(c::__NR_read) && !enters(c::__NR_ioctl),
            "reads fill memory"
        );

        watch_all_for_good();
        watch_needed();
        assert!(enters(c::__NR_getpid) && enters(u32::from(u16::MAX)));
    }
}
