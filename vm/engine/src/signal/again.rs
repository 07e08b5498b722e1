//! Where the restorer of the VM's signal handler ([`super::entry`]) begins again, because a signal has come behind its last
//! look.

use ppin_os::frame::{UContext, greg};

unsafe extern "C" {
    /// `sa_restorer` of the handler: rsp is the context's address.
    pub(super) fn restorer();
    /// From here on rbp is the context's address.
    fn restorer_by_hand();
    /// Here the frame for iretq lies below the context.
    fn restorer_iretq();
    fn restorer_end();
}

/// Bytes of the frame for iretq.
const IRETQ_FRAME: u64 = 40;

/// The address of a label.
pub(super) fn address(label: unsafe extern "C" fn()) -> u64 {
    label as *const () as usize as u64
}

/// If the thread of `context` was about to return from the handler: has the restorer begin again.
pub(super) fn again(context: &mut UContext) {
    let g = &mut context.gregs;
    let pc = g[greg::RIP];
    if !(address(restorer)..address(restorer_end)).contains(&pc) {
        return;
    }
    if pc == address(restorer_iretq) {
        g[greg::RSP] += IRETQ_FRAME;
    } else if pc >= address(restorer_by_hand) {
        g[greg::RSP] = g[greg::RBP];
    }
    g[greg::RIP] = address(restorer);
}
