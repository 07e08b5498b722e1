//! The panic handler: a line on descriptor 2, the engine's crash report, and exit status 125. There
//! is no unwinding, and no allocation before the first line is written.

use core::fmt::Write;
use core::panic::PanicInfo;

/// A line of text of bounded length.
struct Line {
    text: [u8; 512],
    used: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes().take(self.text.len() - 1 - self.used) {
            self.text[self.used] = if byte == b'\n' { b' ' } else { byte };
            self.used += 1;
        }
        Ok(())
    }
}

/// Whether the allocator has panicked: the cause is a memory limit or the machine, not a bug.
fn is_want_of_memory(info: &PanicInfo<'_>) -> bool {
    const ALLOCATOR: &str = "library/alloc/src/alloc.rs";
    let place = info.location();
    place.is_some_and(|place| place.file().ends_with(ALLOCATOR))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    if is_want_of_memory(info) {
        ppin_inject::sys::complain(
            b"ppin: there is no memory left for ppin beside the program (ulimit -v, ulimit -d?)\n",
        );
        ppin_inject::sys::exit(125)
    }
    let mut line = Line {
        text: [0; 512],
        used: 0,
    };
    let _ = write!(line, "ppin: internal error: {}", info.message());
    if let Some(place) = info.location() {
        let _ = write!(line, " ({place})");
    }
    say(&mut line);
    ppin_inject::sys::exit(125)
}

#[cfg(feature = "engine")]
fn say(line: &mut Line) {
    let text = core::str::from_utf8(&line.text[..line.used]).unwrap_or("ppin: internal error");
    ppin_process::report::diagnosis::say(format_args!("{text}"), None, None);
}

#[cfg(not(feature = "engine"))]
fn say(line: &mut Line) {
    line.text[line.used] = b'\n';
    ppin_inject::sys::complain(&line.text[..=line.used]);
}
