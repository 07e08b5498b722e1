//! A tool that a run was started with, as texts carry it: in the boot block, to followed children,
//! and in the labels of units.
//!
//! ```text
//! tool   HASH OFFSET LENGTH NAME     a line; HASH: 64 hexadecimal digits; NAME: that of a bundled
//!                                    tool, or the absolute path of its object
//! knob   N:NAME=VALUE                a line; N: which tool
//! ```

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// Name of a bundled tool, or path of an object.
    pub name: String,
    /// SHA-256 of the object.
    pub hash: [u8; 32],
    /// Offset and length of a bundled tool's object in the ppin executable.
    pub place: (u64, u64),
    /// Knobs that were given, `NAME=VALUE`.
    pub knobs: Vec<String>,
}

impl Chosen {
    /// Whether `name` is the path of a tool's object, not the name of a bundled tool.
    #[must_use]
    pub fn is_path(name: &str) -> bool {
        name.contains('/')
    }

    /// The knobs, as a tool takes them.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        pairs(&self.knobs)
    }

    /// Those of the knobs that change code, a line each, sorted. `changes` tells of a name whether
    /// it does.
    #[must_use]
    pub fn changing(&self, changes: impl Fn(&str) -> bool) -> String {
        let knobs = self.knobs.iter().map(String::as_str);
        let chosen = |knob: &&str| knob.split_once('=').is_some_and(|(name, _)| changes(name));
        let mut knobs: Vec<&str> = knobs.filter(chosen).collect();
        knobs.sort_unstable();
        knobs.join("\n")
    }
}

/// `NAME=VALUE`, divided.
fn pairs(knobs: &[String]) -> Vec<(&str, &str)> {
    knobs
        .iter()
        .filter_map(|knob| knob.split_once('='))
        .collect()
}

/// The lines for `tools`, and for their knobs.
#[must_use]
pub fn written(tools: &[Chosen]) -> (String, String) {
    let (mut lines, mut knobs) = (Vec::new(), Vec::new());
    for (n, tool) in tools.iter().enumerate() {
        let mut line = String::new();
        // Writing to a string cannot fail.
        let _ = write_tool(&mut line, &tool.hash, tool.place, &tool.name);
        lines.push(line);
        knobs.extend(tool.knobs.iter().map(|knob| alloc::format!("{n}:{knob}")));
    }
    (lines.join("\n"), knobs.join("\n"))
}

/// Writes the line for one tool.
///
/// # Errors
/// Those of `to`.
pub fn write_tool(
    to: &mut dyn Write,
    hash: &[u8; 32],
    (offset, length): (u64, u64),
    name: &str,
) -> fmt::Result {
    for byte in hash {
        write!(to, "{byte:02x}")?;
    }
    write!(to, " {offset} {length} {name}")
}

/// The tools that [`written`] tells of; `None`: it is not such a text.
#[must_use]
pub fn read(lines: &str, knobs: &str) -> Option<Vec<Chosen>> {
    let mut tools = lines.lines().map(tool).collect::<Option<Vec<_>>>()?;
    for line in knobs.lines() {
        let (n, knob) = line.split_once(':')?;
        let tool = tools.get_mut(n.parse::<usize>().ok()?)?;
        tool.knobs.push(knob.to_string());
    }
    Some(tools)
}

fn tool(line: &str) -> Option<Chosen> {
    let mut words = line.splitn(4, ' ');
    let hash = unhex(words.next()?)?;
    let place = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Chosen {
        name: words.next()?.to_string(),
        hash,
        place,
        knobs: Vec::new(),
    })
}

/// Two digits for each byte.
#[must_use]
pub fn hex(hash: &[u8; 32]) -> String {
    let mut text = String::with_capacity(64);
    for byte in hash {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What [`hex`] has written.
#[must_use]
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (n, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Vec<Chosen> {
        let bundled = Chosen {
            name: "bbcount".into(),
            hash: [0xa5; 32],
            place: (4096, 77),
            knobs: Vec::new(),
        };
        let by_path = Chosen {
            name: "/a b/c=d:e.so".into(),
            hash: [7; 32],
            place: (0, 0),
            knobs: ["file=x:y=z".into(), "a=".into()].to_vec(),
        };
        [bundled, by_path].to_vec()
    }

    #[test]
    fn tools_are_read_as_they_were_written() {
        for tools in [Vec::new(), two()] {
            let (lines, knobs) = written(&tools);
            assert_eq!(read(&lines, &knobs), Some(tools));
        }
    }

    #[test]
    fn other_texts_are_none() {
        let (lines, _) = written(&two());
        for (lines, knobs) in [
            ("bbcount", ""),
            (&lines[1..], ""),
            (&lines, "2:a=b"),
            (&lines, "a=b"),
        ] {
            assert_eq!(read(lines, knobs), None, "{lines:?} {knobs:?}");
        }
        assert_eq!(unhex(&"g".repeat(64)), None);
        assert_eq!(unhex(&"é".repeat(32)), None);
    }

    #[test]
    fn only_changing_knobs_are_kept_in_order() {
        let tool = Chosen {
            knobs: ["b=2".into(), "file=x".into(), "a=1".into()].to_vec(),
            ..Chosen::default()
        };
        assert_eq!(tool.changing(|name| name != "file"), "a=1\nb=2");
        assert_eq!(tool.pairs()[1], ("file", "x"));
    }
}
