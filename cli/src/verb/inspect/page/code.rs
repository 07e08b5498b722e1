//! A trace on a page: it unfolds to the program's code beside its translation.

use crate::text::count;
use crate::verb::inspect::beside::{Row, rows};
use crate::verb::inspect::model::{Exit, Trace};
use maud::{Markup, html};
use ppin_decode::disasm::{HotLine, Line};

/// The trace. `whole`: the other traces of its unit are on the page, too.
pub fn of(trace: &Trace, whole: bool) -> Markup {
    html! {
        details id=(name(&trace.unit_name, trace.address, trace.context)) open[!whole] {
            summary {
                code { (trace.place) }
                " trace " (trace.number) ": " (count(trace.instructions.into(), "instruction")) ", "
                (count(trace.source_bytes.into(), "byte")) ", context " (trace.context)
                @if trace.follows > 0 { ", branches that it follows: " (trace.follows) }
                @if trace.indirect_target { ", reached by an indirect branch" }
            }
            ul {
                @for exit in &trace.exits { li { (leads(trace, exit, whole)) } }
                @for call in &trace.calls { li { (call.text()) } }
            }
            @if let Err(why) = &trace.original { p { "Original code: " (why) } }
            table class="code" { @for row in rows(trace) { (line(&row)) } }
        }
    }
}

/// The anchor of a trace.
fn name(unit: &str, address: u64, context: u32) -> String {
    format!("{unit}-{address:x}-{context}")
}

fn leads(trace: &Trace, exit: &Exit, whole: bool) -> Markup {
    let to = name(&trace.unit_name, exit.target, exit.context);
    html! {
        "exit to "
        @if whole && exit.linked { a href={ "#" (to) } { (exit.place) } }
        @else { (exit.place) }
        ", " (exit.state())
    }
}

fn line(row: &Row<'_>) -> Markup {
    html! {
        tr {
            td class="app" { @if let Some(line) = row.original { (original(line)) } }
            td class=(if row.original.is_some() { "first" } else { "more" }) {
                @if let Some(hot) = row.translated { (translated(hot)) }
            }
        }
    }
}

fn original(line: &Line) -> Markup {
    html! { span class="at" { (format!("{:x}", line.at)) } " " (line.text) }
}

fn translated(hot: &HotLine) -> Markup {
    html! {
        span class="at" { (format!("{:03x}", hot.line.at)) } " " (hot.line.text)
        @if !hot.notes.is_empty() { span class="note" { " ; " (hot.notes.join("; ")) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_calls_its_functions_is_text() {
        let exit = Exit {
            target: 0x10,
            place: "0x10 <a<b>&c>".to_owned(),
            symbol: None,
            context: 64,
            linked: true,
        };
        let trace = Trace {
            image: "/a".to_owned(),
            unit: "u".into(),
            unit_name: "u".to_owned(),
            tool: "null".to_owned(),
            number: 3,
            offset: 0,
            address: 0,
            place: "0x0 <operator<>".to_owned(),
            symbol: None,
            context: 0,
            instructions: 1,
            follows: 0,
            source_bytes: 2,
            relocations: 0,
            indirect_target: false,
            original: Err("the file is gone".to_owned()),
            translated: Vec::new(),
            exits: vec![exit],
            calls: Vec::new(),
        };
        let page = of(&trace, true).into_string();
        assert!(
            page.contains("<a href=\"#u-10-64\">0x10 &lt;a&lt;b&gt;&amp;c&gt;</a>, linked"),
            "{page}"
        );
        assert!(page.contains("0x0 &lt;operator&lt;&gt;") && page.contains("the file is gone"));
        assert!(page.contains("1 instruction, 2 bytes"));
        let alone = of(&trace, false).into_string();
        assert!(!alone.contains("<a ") && alone.contains(" open"));
    }
}
