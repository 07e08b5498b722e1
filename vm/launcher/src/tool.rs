//! The tool of a run, as the boot block tells of it.

use core::fmt::{self, Write};
use ppin_abi::boot::RuntimeSpan;
use ppin_plugin::chosen::write_tool;

/// A tool that the executable carries.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// SHA-256 of its object.
    pub hash: [u8; 32],
    /// Where that lies in the executable's file.
    pub span: RuntimeSpan,
}

/// Bytes of the longest line: a hash, two numbers and a name.
const MOST: usize = 192;

/// The line that tells of a tool; none, if there is no tool.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    bytes: [u8; MOST],
    len: usize,
}

impl Line {
    /// `None`: the name is too long.
    pub(crate) fn of(tool: Option<Tool>) -> Option<Self> {
        let mut line = Self {
            bytes: [0; MOST],
            len: 0,
        };
        if let Some(Tool { name, hash, span }) = tool {
            write_tool(&mut line, &hash, (span.offset, span.len), name).ok()?;
        }
        Some(line)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read_back() {
        assert_eq!(Line::of(None).unwrap().bytes(), b"");
        let tool = Tool {
            name: "icount",
            hash: [0xa5; 32],
            span: RuntimeSpan {
                offset: u64::MAX,
                len: u64::MAX,
            },
        };
        let line = Line::of(Some(tool)).unwrap();
        let text = core::str::from_utf8(line.bytes()).unwrap();
        let read = ppin_plugin::chosen::read(text, "").unwrap();
        assert_eq!((read[0].name.as_str(), read[0].hash), ("icount", tool.hash));
        assert_eq!(read[0].place, (u64::MAX, u64::MAX));
    }
}
