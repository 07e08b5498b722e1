//! Which tool a unit was made for.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_api::Tool;
use ppin_persist::tool_key;

/// What a unit's label says: the tool's name, and a line for each of its knobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Name of the tool.
    pub tool: String,
    /// `NAME=VALUE`, in the order in which they were given.
    pub knobs: Vec<String>,
}

impl Label {
    /// From the text in a unit.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines().map(ToString::to_string);
        Self {
            tool: lines.next().unwrap_or_default(),
            knobs: lines.collect(),
        }
    }

    /// The knobs, as a tool takes them.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let pairs = self.knobs.iter().filter_map(|knob| knob.split_once('='));
        pairs.collect()
    }

    /// The part of a key that stands for `tool` with these knobs. `options`: those of the
    /// engine that change code.
    #[must_use]
    pub fn key(&self, tool: &dyn Tool, options: &[u8]) -> [u8; 32] {
        let changing = |knob: &&str| {
            let name = knob.split_once('=').map(|(name, _)| name);
            let mut known = tool.knobs().iter();
            known.any(|known| known.changes_code && name == Some(known.name))
        };
        let knobs = self.knobs.iter().map(String::as_str);
        let mut knobs: Vec<&str> = knobs.filter(changing).collect();
        knobs.sort_unstable();
        tool_key(self.tool.as_bytes(), knobs.join("\n").as_bytes(), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_name_and_knobs() {
        let label = Label::parse(b"memtrace\nfile=a=b\n");
        assert_eq!(label.tool, "memtrace");
        assert_eq!(label.pairs(), [("file", "a=b")]);
        assert_eq!(Label::parse(b"").tool, "");
    }

    #[test]
    fn knobs_that_change_no_code_are_not_in_the_key() {
        let tool = ppin_tools::by_name("opcodemix").unwrap();
        let plain = Label::parse(b"opcodemix").key(&*tool, b"");
        assert_eq!(Label::parse(b"opcodemix\ntop=3").key(&*tool, b""), plain);
        assert_eq!(plain, tool_key(b"opcodemix", b"", b""));
        assert_ne!(plain, Label::parse(b"opcodemix").key(&*tool, b"x"));
    }
}
