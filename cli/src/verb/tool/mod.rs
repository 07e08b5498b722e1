//! `ppin tool`: which tools there are, how they can be tuned, and how to begin one.

mod memtrace_print;
mod new;

use crate::failure::{Failure, USAGE, failed};
use crate::options::{Format, Tool as What};
use crate::tools::{Found, bundled};
use ppin_plugin::Card;
use serde_json::json;
use std::fmt::Write;

/// Lists, explains or makes one.
pub fn tool(what: &What) -> Result<(), Failure> {
    match what {
        What::List { format } => print!("{}", list(&bundled().map_err(failed)?, *format)),
        What::Doc { name } => {
            let found = Found::by_word(name).map_err(|why| Failure::new(USAGE, why))?;
            print!("{}", doc(&found.card));
        }
        What::MemtracePrint { file } => memtrace_print::print(file)?,
        What::New { name, sdk } => print!("{}", new::new(name, sdk.as_deref())?),
    }
    Ok(())
}

fn list(tools: &[Found], format: Format) -> String {
    let cards = || tools.iter().map(|tool| &tool.card);
    let widest = cards().map(|card| card.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Card { name, summary, .. } in cards() {
        // Writing to a string cannot fail.
        let _ = match format {
            Format::Human => writeln!(text, "{name:widest$}  {summary}"),
            Format::Json => writeln!(text, "{}", json!({"name": name, "summary": summary})),
        };
    }
    text
}

fn doc(card: &Card) -> String {
    let mut text = format!("{}: {}\n", card.name, card.summary);
    for knob in &card.knobs {
        let (name, default, help) = (&knob.name, &knob.default, &knob.help);
        let _ = writeln!(text, "\n  --knob {name}={default}\n      {help}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_listed_and_documented() {
        let tools = bundled().unwrap();
        let lines = list(&tools, Format::Human);
        assert_eq!(lines.lines().count(), tools.len());
        for Found { card, .. } in &tools {
            let text = doc(card);
            assert!(text.contains(&card.summary));
            assert!(card.knobs.iter().all(|knob| text.contains(&knob.name)));
        }
        let json = list(&tools, Format::Json);
        assert!(
            json.starts_with("{\"name\":\"bbcount\",\"summary\":\""),
            "{json}"
        );
    }
}
