//! What ppin itself has to say, and when: one line on descriptor 2, only when the
//! run cannot go on.

use crate::sys::file;
use crate::sys::proc;
use alloc::string::String;
use core::fmt::{Arguments, Write};

/// Exit status when ppin itself failed.
pub const PPIN_FAILED: i32 = 125;

/// Writes one line to descriptor 2.
pub fn line(text: Arguments<'_>) {
    let mut line = String::new();
    let _ = write!(line, "{text}");
    line.push('\n');
    let _ = file::write_all(2, line.as_bytes());
}

/// Says why the run cannot go on, and ends it.
pub fn give_up(text: Arguments<'_>) -> ! {
    line(format_args!("ppin: {text}"));
    proc::exit_group(PPIN_FAILED)
}
