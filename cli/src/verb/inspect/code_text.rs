//! One trace as text: the program's instructions on the left, what they became on the right.

use super::model::Trace;
use ppin_decode::disasm::{HotLine, Line};
use std::fmt::Write;

/// Width of the left column, if its lines are not wider still.
const LEFT: usize = 36;

/// All lines of it.
pub fn text(trace: &Trace) -> String {
    let mut text = heading(trace);
    let original = trace.original.as_ref().map_or_else(
        |why| {
            let _ = writeln!(text, "  (original code: {why})");
            &[][..]
        },
        Vec::as_slice,
    );
    columns(&mut text, trace.address, original, &trace.translated);
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
        let state = if exit.linked {
            "linked"
        } else {
            "not in this unit"
        };
        let _ = writeln!(text, "  exit to {}, {state}", exit.place);
    }
    for call in &trace.calls {
        let place = match (call.taken, call.after) {
            (true, _) => "if taken",
            (false, true) => "behind",
            (false, false) => "before",
        };
        let (routine, at, how) = (call.routine, call.address, call.how);
        let part = match call.part {
            "" => String::new(),
            part => format!("{part} "),
        };
        let _ = writeln!(text, "  {part}{routine} {place} {at:x}: {how}");
    }
    text
}

/// Each original instruction beside the first line that belongs to it.
fn columns(text: &mut String, start: u64, original: &[Line], lines: &[HotLine]) {
    let left = |line: &Line| format!("{:x}  {}", line.at, line.text);
    let widest = original.iter().map(|line| left(line).len()).max();
    let width = widest.unwrap_or(0).clamp(LEFT, 2 * LEFT);
    let mut waiting = original.iter().peekable();
    for hot in lines {
        let at = start + u64::from(hot.app);
        // Instructions that became no code of their own stand alone.
        while let Some(line) = waiting.next_if(|line| line.at < at) {
            let _ = writeln!(text, "  {}", left(line));
        }
        let this = waiting
            .next_if(|line| line.at == at)
            .map(left)
            .unwrap_or_default();
        let code = with_notes(&hot.line.text, &hot.notes);
        let _ = writeln!(text, "  {this:width$}  hot {:03x}   {code}", hot.line.at);
    }
    for line in waiting {
        let _ = writeln!(text, "  {}", left(line));
    }
}

fn with_notes(code: &str, notes: &[String]) -> String {
    if notes.is_empty() {
        return code.to_owned();
    }
    format!("{code:<36} ; {}", notes.join("; "))
}
