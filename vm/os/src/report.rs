//! The error message of ppin itself: one line on descriptor 2, only when the run cannot go on.

use crate::signals::KernelSigaction;
use crate::{Permit, c, file, proc};
use core::fmt::{Arguments, Write};

/// Exit status when ppin itself failed.
pub const PPIN_FAILED: i32 = 125;

/// Longest line.
const LONGEST: usize = 2048;

/// A line of text. It is not on the heap, because the heap may be what has failed.
struct Line {
    text: [u8; LONGEST],
    used: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = &mut self.text[self.used..LONGEST - 1];
        let len = room.len().min(text.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.used += len;
        Ok(())
    }
}

/// Writes one line to descriptor 2.
pub fn line(text: Arguments<'_>) {
    let mut line = Line {
        text: [0; LONGEST],
        used: 0,
    };
    // Text that does not fit is cut off.
    let _ = write!(line, "{text}");
    line.text[line.used] = b'\n';
    let _ = file::write_all(2, &line.text[..=line.used]);
}

/// Ends the process by `signal` with system calls only: all data of the VM may be damaged.
pub fn memory_is_damaged(signal: u32) -> ! {
    let said = "ppin: internal error: memory of ppin's is damaged\n";
    let (default, mask) = (KernelSigaction::default(), 1u64 << (signal - 1));
    let (action, mask) = ((&raw const default) as usize, (&raw const mask) as usize);
    let call = |nr: u32, args: [usize; 3]| {
        let [a, b, c] = args;
        let permit = Permit::despite_filters(nr, [a, b, c, size_of::<u64>(), 0, 0]);
        // SAFETY: the arguments are valid; the program does not run any more.
        unsafe { permit.execute() as usize }
    };
    call(c::__NR_write, [2, said.as_ptr() as usize, said.len()]);
    call(c::__NR_rt_sigaction, [signal as usize, action, 0]);
    call(c::__NR_rt_sigprocmask, [c::SIG_UNBLOCK as usize, mask, 0]);
    let ids = [c::__NR_getpid, c::__NR_gettid].map(|nr| call(nr, [0; 3]));
    call(c::__NR_tgkill, [ids[0], ids[1], signal as usize]);
    proc::exit_group(128 + signal as i32)
}

/// Prints why the run cannot go on, and ends the process.
pub fn give_up(text: Arguments<'_>) -> ! {
    line(format_args!("ppin: {text}"));
    proc::exit_group(PPIN_FAILED)
}
