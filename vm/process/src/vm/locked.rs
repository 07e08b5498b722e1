//! The lock of the VM.

use super::Vm;
use ppin_os::lock::{Guard, Mutex};
use ppin_os::time;

static VM: Mutex<Option<Vm>> = Mutex::new(None);

/// Access to the VM; the lock is released when this is dropped.
pub struct Locked(Option<Guard<'static, Option<Vm>>>);

impl core::ops::Deref for Locked {
    type Target = Vm;
    fn deref(&self) -> &Vm {
        self.0
            .as_ref()
            .and_then(|guard| guard.as_ref())
            .expect("the VM is initialised at boot")
    }
}

impl core::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Vm {
        self.0
            .as_mut()
            .and_then(|guard| guard.as_mut())
            .expect("the VM is initialised at boot")
    }
}

/// Waits for the VM lock. If its last holder died with it, the VM's state is rebuilt.
#[must_use]
pub fn lock() -> Locked {
    let (guard, over) = VM.lock_or_take_over();
    let mut locked = Locked(Some(guard));
    // (A process that exits holds the lock to its end, with the VM consistent.)
    if over && !locked.report_done {
        locked.rebuild();
    }
    locked
}

/// Takes the VM lock for a crash report: after a short wait even if a thread holds it.
#[must_use]
pub fn lock_for_crash_report() -> Locked {
    const TRIES: u32 = 100;
    if let Some(guard) = time::tried(TRIES, || VM.try_lock()) {
        return Locked(Some(guard));
    }
    VM.reset();
    lock()
}

impl Locked {
    /// Releases the lock while `f` runs, which takes it itself.
    pub fn unlocked<T>(&mut self, f: impl FnOnce() -> T) -> T {
        self.0 = None;
        let result = f();
        self.0 = lock().0;
        result
    }
}

/// The lock without the VM.
pub fn word() -> &'static ppin_os::lock::Word {
    VM.word()
}

/// Wakes all threads that wait for the lock.
pub fn wake_all() {
    VM.wake_all();
}

/// Frees the lock in a forked child, whose parent held it for both.
pub fn unlock_in_child() {
    VM.reset();
    ppin_os::lock::sharing_ended();
}

/// Sets up the VM.
pub(super) fn put(vm: Vm) {
    *VM.lock() = Some(vm);
}
