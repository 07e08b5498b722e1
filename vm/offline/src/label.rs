//! Which tools a unit was made for, and with which mechanisms of the compiler.
//!
//! ```text
//! --tool=HASH NAME       for each tool: SHA-256 of its object; its name, or the object's path
//! KNOB=VALUE             each knob that the tool above was given
//! --optimize=LIST        if some mechanisms were off
//! ```

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use ppin_abi::optimize::Optimize;
use ppin_plugin::Chosen;
use ppin_plugin::chosen::{hex, unhex};

/// Begins the line of a tool.
const TOOL: &str = "--tool=";
/// Begins the line that tells the mechanisms, unless all were on.
const OPTIMIZE: &str = "--optimize=";

/// What a unit's label says; see the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The tools, without their places.
    pub tools: Vec<Chosen>,
    /// The mechanisms, as [`Optimize::parse`] reads them; `None`: all.
    pub optimize: Option<String>,
}

impl Label {
    /// The label of what a run with these settings makes.
    #[must_use]
    pub fn of_run(tools: &[Chosen], optimize: Optimize) -> Self {
        Self {
            tools: tools.to_vec(),
            optimize: (optimize != Optimize::ALL).then(|| optimize.to_string()),
        }
    }

    /// From the text in a unit. Lines that mean nothing are passed over.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut label = Self::default();
        for line in String::from_utf8_lossy(text).lines() {
            if let Some(list) = line.strip_prefix(OPTIMIZE) {
                label.optimize = Some(list.to_string());
            } else if let Some(tool) = line.strip_prefix(TOOL).and_then(tool) {
                label.tools.push(tool);
            } else if let Some(tool) = label.tools.last_mut() {
                tool.knobs.push(line.to_string());
            }
        }
        label
    }

    /// For people: the tools' names with their knobs, and the mechanisms.
    #[must_use]
    pub fn summary(&self) -> String {
        let tools = self.tools.iter().map(|tool| {
            let words = core::iter::once(shown(tool)).chain(tool.knobs.iter().cloned());
            words.collect::<Vec<_>>().join(" ")
        });
        let mut text = tools.collect::<Vec<_>>().join(" + ");
        if text.is_empty() {
            text.push_str("null");
        }
        if let Some(list) = &self.optimize {
            text.push(' ');
            text.push_str(OPTIMIZE);
            text.push_str(list);
        }
        text
    }
}

/// The tool's name; of an object its file's, and the first digits of its hash.
fn shown(tool: &Chosen) -> String {
    match tool.name.rsplit_once('/') {
        None => tool.name.clone(),
        Some((_, file)) => alloc::format!("{file} ({})", &hex(&tool.hash)[..8]),
    }
}

fn tool(text: &str) -> Option<Chosen> {
    let (hash, name) = text.split_once(' ')?;
    Some(Chosen {
        name: name.to_string(),
        hash: unhex(hash)?,
        ..Chosen::default()
    })
}

/// The text for a unit.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.tools.iter().flat_map(|tool| {
            let line = alloc::format!("{TOOL}{} {}", hex(&tool.hash), tool.name);
            core::iter::once(line).chain(tool.knobs.iter().cloned())
        });
        let list = self.optimize.iter();
        let lines = tools.chain(list.map(|list| alloc::format!("{OPTIMIZE}{list}")));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, knobs: &[&str]) -> Chosen {
        Chosen {
            name: name.into(),
            hash: [0xab; 32],
            knobs: knobs.iter().map(ToString::to_string).collect(),
            ..Chosen::default()
        }
    }

    #[test]
    fn a_label_is_read_as_it_was_written() {
        let two = [tool("memtrace", &["file=a=b"]), tool("/x/a tool.so", &[])];
        for tools in [&two[..], &two[..1], &[]] {
            for optimize in [Optimize::ALL, Optimize::NONE] {
                let label = Label::of_run(tools, optimize);
                assert_eq!(Label::parse(label.to_string().as_bytes()), label);
            }
        }
    }

    #[test]
    fn people_are_told_names_and_knobs() {
        let of = |tools: &[Chosen], optimize| Label::of_run(tools, optimize).summary();
        let two = [tool("memtrace", &["file=a"]), tool("/x/libmine.so", &[])];
        assert_eq!(of(&[], Optimize::ALL), "null");
        assert_eq!(
            of(&two, Optimize::ALL),
            "memtrace file=a + libmine.so (abababab)"
        );
        assert!(of(&two[..1], Optimize::NONE).starts_with("memtrace file=a --optimize="));
    }
}
