//! Whether this process can carry the runtime over its exec.

use crate::kernel::{self, Limit};
use ppin_abi::room::{LEAST, allowed};

/// Whether limits of memory leave room. Whether another process traces this one, or children live in
/// another PID namespace, the launch itself finds out.
pub(crate) fn has_room() -> bool {
    let room = |limit: Limit| {
        let (soft, hard) = kernel::limit(limit)?;
        Some(allowed(limit == Limit::Data, soft, hard))
    };
    let rooms = [Limit::AddressSpace, Limit::Data].map(room);
    rooms
        .iter()
        .all(|room| room.is_some_and(|room| room >= LEAST))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_ordinary_process_can() {
        assert!(super::has_room());
    }
}
