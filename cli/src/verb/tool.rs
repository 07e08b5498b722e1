//! `ppin tool`: which tools there are, and how they can be tuned.

use super::memtrace_print;
use crate::failure::{Failure, USAGE};
use crate::options::{Format, Tool as What};
use ppin_sdk::prelude::Tool;
use std::fmt::Write;

/// Lists or explains.
pub fn tool(what: &What) -> Result<(), Failure> {
    match what {
        What::List { format } => print!("{}", list(&ppin_tools::all(), *format)),
        What::MemtracePrint { file } => memtrace_print::print(file)?,
        What::Doc { name } => print!("{}", doc(&*named(name, USAGE)?)),
    }
    Ok(())
}

/// The tool called `name`, or which there are instead.
pub fn named(name: &str, status: u8) -> Result<Box<dyn Tool>, Failure> {
    ppin_tools::by_name(name).ok_or_else(|| {
        let tools = ppin_tools::all();
        let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
        Failure::new(
            status,
            format!("there is no tool {name} (there are: {})", names.join(", ")),
        )
    })
}

fn list(tools: &[Box<dyn Tool>], format: Format) -> String {
    let widest = tools
        .iter()
        .map(|tool| tool.name().len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for tool in tools {
        let (name, summary) = (tool.name(), tool.summary());
        // Writing to a string cannot fail; names and summaries hold no quotes.
        let _ = match format {
            Format::Human => writeln!(text, "{name:widest$}  {summary}"),
            Format::Json => writeln!(text, "{{\"name\":{name:?},\"summary\":{summary:?}}}"),
        };
    }
    text
}

fn doc(tool: &dyn Tool) -> String {
    let mut text = format!("{}: {}\n", tool.name(), tool.summary());
    for knob in tool.knobs() {
        let (name, default, help) = (knob.name, knob.default, knob.help);
        let _ = writeln!(text, "\n  --knob {name}={default}\n      {help}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_listed_and_documented() {
        let tools = ppin_tools::all();
        let lines = list(&tools, Format::Human);
        assert_eq!(lines.lines().count(), tools.len());
        for tool in &tools {
            let text = doc(&**tool);
            assert!(text.contains(tool.summary()));
            assert!(tool.knobs().iter().all(|knob| text.contains(knob.name)));
        }
    }

    #[test]
    fn an_unknown_tool_is_answered_with_the_known_ones() {
        let failure = named("nothing", 125).err().unwrap();
        assert!(failure.message.contains("null"), "{}", failure.message);
    }
}
