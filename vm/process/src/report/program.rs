//! Path of the running program.

use alloc::string::String;
use ppin_os::lock::Mutex;
use ppin_os::{c, file};

/// Path of the program, stored while the kernel could be asked.
static PROGRAM: Mutex<String> = Mutex::new(String::new());

/// Stores the path, because a filter will soon forbid to ask for it.
pub fn remember() {
    let now = program();
    *PROGRAM.lock() = now;
}

/// Path of the program.
#[must_use]
pub fn program() -> String {
    let link = file::c_path("/proc/self/exe");
    let mut buffer = [0u8; 4096];
    // SAFETY: a terminated path and a buffer of ours.
    let len = unsafe {
        ppin_os::call(
            c::__NR_readlink,
            [
                link.as_ptr() as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            ],
        )
    }
    .unwrap_or(0);
    if len == 0 {
        return PROGRAM.lock().clone();
    }
    String::from_utf8_lossy(&buffer[..len]).into_owned()
}
