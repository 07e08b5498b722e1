//! Delivery of the pending signal at a boundary.

use super::deliver;
use ppin_os::frame::UContext;
use ppin_process::pending;
use ppin_process::thread::Thread;
use ppin_process::translate::Spot;

/// Delivers the pending signal, now that the app stands at `spot`.
pub(super) fn deliver_waiting(thread: &mut Thread, context: &mut UContext, spot: &Spot) {
    let info = thread.signals.waiting;
    thread.pending = 0;
    deliver::deliver(thread, context, &info, spot, false);
    pending::release(thread);
}
