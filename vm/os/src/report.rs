//! The error message of ppin itself: one line on descriptor 2, only when the run cannot go on.

use crate::{file, proc};
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

/// Prints why the run cannot go on, and ends the process.
pub fn give_up(text: Arguments<'_>) -> ! {
    line(format_args!("ppin: {text}"));
    proc::exit_group(PPIN_FAILED)
}
