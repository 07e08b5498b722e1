//! Whether this process can carry the runtime over its exec.

use crate::kernel::{self, Limit};
use crate::path::Path;
use ppin_abi::room::{LEAST, allowed};

/// The PID namespace of this process, and that of its children.
const NAMESPACES: [&core::ffi::CStr; 2] = [c"/proc/self/ns/pid", c"/proc/self/ns/pid_for_children"];

/// The namespace that the system begins with: `PROC_PID_INIT_INO` of the kernel.
const FIRST: &[u8] = b"pid:[4026531836]";

/// Whether limits of memory leave room, and a helper would be in this PID namespace. Whether
/// another process traces this one, the launch itself finds out.
pub(crate) fn can_carry() -> bool {
    let room = |limit: Limit| {
        let (soft, hard) = kernel::limit(limit)?;
        Some(allowed(limit == Limit::Data, soft, hard))
    };
    let rooms = [Limit::AddressSpace, Limit::Data].map(room);
    rooms
        .iter()
        .all(|room| room.is_some_and(|room| room >= LEAST))
        && shares_namespace()
}

/// (A process whose children live in the first namespace lives there itself: children never move
/// up.)
fn shares_namespace() -> bool {
    let [own, childrens] = NAMESPACES;
    let Some(childrens) = Path::of_link(childrens) else {
        return false;
    };
    let same = |own: Path| own.bytes() == childrens.bytes();
    childrens.bytes() == FIRST || Path::of_link(own).is_some_and(same)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_ordinary_process_can() {
        assert!(super::can_carry());
    }
}
