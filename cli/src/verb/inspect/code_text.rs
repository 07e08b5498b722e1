//! One trace as text: the program's instructions on the left, what they became on the right.

use super::beside::rows;
use super::model::Trace;
use ppin_decode::disasm::Line;
use std::fmt::Write;

/// Width of the left column, if its lines are not wider still.
const LEFT: usize = 36;

/// All lines of it.
pub fn text(trace: &Trace) -> String {
    let mut text = heading(trace);
    if let Err(why) = &trace.original {
        let _ = writeln!(text, "  (original code: {why})");
    }
    columns(&mut text, trace);
    text
}

fn heading(trace: &Trace) -> String {
    let mut text = format!(
        "{} in {}\n  {} instructions, {} bytes; context {}; trace {} of {} ({})\n",
        trace.place,
        trace.image,
        trace.instructions,
        trace.source_bytes,
        trace.context,
        trace.number,
        trace.unit_name,
        trace.tool,
    );
    if trace.follows > 0 {
        let _ = writeln!(text, "  branches that it follows: {}", trace.follows);
    }
    if trace.indirect_target {
        text += "  reached by an indirect branch\n";
    }
    for exit in &trace.exits {
        let _ = writeln!(text, "  exit to {}, {}", exit.place, exit.state());
    }
    for call in &trace.calls {
        let _ = writeln!(text, "  {}", call.text());
    }
    text
}

/// The program's instructions on the left, what they became on the right.
fn columns(text: &mut String, trace: &Trace) {
    let left = |line: &Line| format!("{:x}  {}", line.at, line.text);
    let original = trace.original.as_deref().unwrap_or_default();
    let widest = original.iter().map(|line| left(line).len()).max();
    let width = widest.unwrap_or(0).clamp(LEFT, 2 * LEFT);
    for row in rows(trace) {
        let this = row.original.map(left).unwrap_or_default();
        let _ = match row.translated {
            Some(hot) => {
                let code = with_notes(&hot.line.text, &hot.notes);
                writeln!(text, "  {this:width$}  hot {:03x}   {code}", hot.line.at)
            }
            None => writeln!(text, "  {this}"),
        };
    }
}

fn with_notes(code: &str, notes: &[String]) -> String {
    if notes.is_empty() {
        return code.to_owned();
    }
    format!("{code:<36} ; {}", notes.join("; "))
}
