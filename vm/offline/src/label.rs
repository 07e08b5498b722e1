//! Which tool a unit was made for, and with which mechanisms of the compiler.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_persist::tool_key;

/// The line of a label that tells the mechanisms, unless all were on.
const OPTIMIZE: &str = "--optimize=";

/// What a unit's label says: the tool's name, a line for each of its knobs, and one for the
/// mechanisms if some were off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Name of the tool.
    pub tool: String,
    /// `NAME=VALUE`, in the order in which they were given.
    pub knobs: Vec<String>,
    /// The mechanisms, as [`Optimize::parse`] reads them; `None`: all.
    pub optimize: Option<String>,
}

impl Label {
    /// The label of what a run with these settings makes.
    #[must_use]
    pub fn of_run(tool: &str, knobs: &[String], optimize: Optimize) -> Self {
        Self {
            tool: tool.to_string(),
            knobs: knobs.to_vec(),
            optimize: (optimize != Optimize::ALL).then(|| optimize.to_string()),
        }
    }

    /// From the text in a unit.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines();
        let tool = lines.next().unwrap_or_default().to_string();
        let is_knob = |line: &&str| !line.starts_with(OPTIMIZE);
        let (knobs, optimize): (Vec<&str>, Vec<&str>) = lines.partition(is_knob);
        let optimize = optimize
            .first()
            .map(|line| line[OPTIMIZE.len()..].to_string());
        Self {
            tool,
            knobs: knobs.into_iter().map(ToString::to_string).collect(),
            optimize,
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

/// The text for a unit.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        for knob in &self.knobs {
            write!(f, "\n{knob}")?;
        }
        match &self.optimize {
            Some(list) => write!(f, "\n{OPTIMIZE}{list}"),
            None => Ok(()),
        }
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
    fn a_label_says_which_mechanisms_were_off() {
        let knobs = ["file=a".to_string()];
        let of = |optimize| Label::of_run("memtrace", &knobs, optimize).to_string();
        assert_eq!(of(Optimize::ALL), "memtrace\nfile=a");
        let all_off = of(Optimize::NONE);
        let parsed = Label::parse(all_off.as_bytes());
        let read = parsed.optimize.as_deref().map(Optimize::parse);
        assert_eq!(read, Some(Ok(Optimize::NONE)));
        assert_eq!(
            (parsed.pairs(), parsed.to_string()),
            ([("file", "a")].to_vec(), all_off)
        );
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
