//! One trace: the program's instructions on the left, what they became on the right.

use super::target::Place;
use super::unit::Unit;
use crate::failure::Failure;
use crate::verb::db::failed;
use ppin_jit::disasm::{self, HotLine, Line};
use ppin_persist::paths::to_hex;
use ppin_persist::{FragmentInfo, Thawed, unit_flag};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;

/// Shows the traces of `unit` that hold `place`; how many there are.
pub fn at(unit: &Unit, place: &Place, as_json: bool) -> Result<usize, Failure> {
    let wanted = match place {
        Place::Address(address) => std::iter::once(*address..*address + 1).collect(),
        Place::Symbol(name) => unit.elf.ranges(name),
    };
    let chosen = |info: &FragmentInfo| {
        let start = unit.elf.address(info.head.0);
        let covered = match place {
            Place::Address(_) => start..start + u64::from(info.source_len.max(1)),
            // Of a function, the traces that begin in it.
            Place::Symbol(_) => start..start + 1,
        };
        wanted.iter().any(|range| overlap(range, &covered))
    };
    show(unit, chosen, as_json)
}

/// Shows all traces.
pub fn all(unit: &Unit, as_json: bool) -> Result<usize, Failure> {
    show(unit, |_| true, as_json)
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

fn show(
    unit: &Unit,
    chosen: impl Fn(&FragmentInfo) -> bool,
    as_json: bool,
) -> Result<usize, Failure> {
    let file = unit.file();
    let mut shown = 0;
    for number in 0..file.unit().fragments() {
        let info = file.unit().info(number).map_err(failed)?;
        if !chosen(&info) {
            continue;
        }
        shown += 1;
        let trace = Trace {
            unit,
            number,
            thawed: file.thaw(number).map_err(failed)?,
        };
        if as_json {
            println!("{}", trace.json());
        } else {
            println!("{}", trace.text());
        }
    }
    Ok(shown)
}

struct Trace<'a> {
    unit: &'a Unit,
    number: u32,
    thawed: Thawed,
}

/// Width of the left column, if its lines are not wider still.
const LEFT: usize = 36;

impl Trace<'_> {
    fn address(&self) -> u64 {
        self.unit.elf.address(self.thawed.fragment.head.0)
    }

    /// The program's instructions, or why they cannot be shown.
    fn original(&self) -> Result<Vec<Line>, &str> {
        let fragment = &self.thawed.fragment;
        let bytes = self.unit.source(fragment.head.0, fragment.source_len)?;
        Ok(disasm::lines(self.address(), bytes))
    }

    fn text(&self) -> String {
        let mut text = self.heading();
        let lines = disasm::hot_lines(&self.thawed.fragment);
        match self.original() {
            Ok(original) => self.columns(&mut text, &original, &lines),
            Err(why) => {
                let _ = writeln!(text, "  (original code: {why})");
                self.columns(&mut text, &[], &lines);
            }
        }
        for (line, notes) in disasm::stub_lines(&self.thawed.fragment) {
            let _ = writeln!(
                text,
                "  {:LEFT$}  cold {:03x}  {}",
                "",
                line.at,
                with_notes(&line.text, &notes)
            );
        }
        text
    }

    fn heading(&self) -> String {
        let fragment = &self.thawed.fragment;
        let mut text = format!(
            "{} in {}\n  {} instructions, {} bytes; context {}; trace {} of {} ({})\n",
            self.unit.elf.describe(self.address()),
            self.unit.image_path(),
            fragment.instructions,
            fragment.source_len,
            fragment.context.0,
            self.number,
            self.unit.name(),
            self.unit.tool(),
        );
        if self.thawed.flags & unit_flag::INDIRECT_TARGET != 0 {
            text += "  reached by an indirect branch\n";
        }
        for exit in &fragment.exits {
            let target = self.unit.elf.describe(self.unit.elf.address(exit.target.0));
            let state = if self.linked(exit) {
                "linked"
            } else {
                "not in this unit"
            };
            let _ = writeln!(text, "  exit to {target}, {state}");
        }
        text
    }

    fn linked(&self, exit: &ppin_relocator::Exit) -> bool {
        let file = self.unit.file();
        file.unit()
            .lookup(exit.target, exit.context)
            .is_ok_and(|entry| entry.is_some())
    }

    /// Each original instruction beside the first line that belongs to it.
    fn columns(&self, text: &mut String, original: &[Line], lines: &[HotLine]) {
        let start = self.address();
        let left = |line: &Line| format!("{:x}  {}", line.at, line.text);
        let width = original
            .iter()
            .map(|line| left(line).len())
            .max()
            .unwrap_or(0)
            .clamp(LEFT, 2 * LEFT);
        let mut waiting = original.iter().peekable();
        for hot in lines {
            let at = start + u64::from(hot.app);
            // What left no code of its own stands alone.
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

    fn json(&self) -> Value {
        let fragment = &self.thawed.fragment;
        let elf = &self.unit.elf;
        let address = self.address();
        let original = self.original().map(|lines| {
            let lines = lines.iter().map(|line| {
                json!({ "address": line.at, "bytes": to_hex(&line.bytes), "text": line.text })
            });
            lines.collect::<Vec<_>>()
        });
        let translated = disasm::hot_lines(fragment).into_iter().map(|hot| {
            json!({
                "offset": hot.line.at,
                "address": address + u64::from(hot.app),
                "bytes": to_hex(&hot.line.bytes),
                "text": hot.line.text,
                "notes": hot.notes,
            })
        });
        let stubs = disasm::stub_lines(fragment).into_iter().map(|(line, notes)| {
            json!({ "offset": line.at, "bytes": to_hex(&line.bytes), "text": line.text, "notes": notes })
        });
        let exits = fragment.exits.iter().map(|exit| {
            let target = elf.address(exit.target.0);
            json!({
                "target": target,
                "symbol": elf.symbol(target).map(|(name, _)| name),
                "context": exit.context.0,
                "linked": self.linked(exit),
            })
        });
        json!({
            "image": self.unit.image_path(),
            "unit": self.unit.path.to_string_lossy(),
            "tool": self.unit.tool(),
            "trace": self.number,
            "address": address,
            "offset": fragment.head.0,
            "symbol": elf.symbol(address).map(|(name, inside)| json!({ "name": name, "offset": inside })),
            "context": fragment.context.0,
            "instructions": fragment.instructions,
            "source_bytes": fragment.source_len,
            "relocations": fragment.relocs.len(),
            "original": original.as_deref().ok(),
            "original_error": original.as_ref().err(),
            "translated": translated.collect::<Vec<_>>(),
            "stubs": stubs.collect::<Vec<_>>(),
            "exits": exits.collect::<Vec<_>>(),
        })
    }
}

fn with_notes(code: &str, notes: &[String]) -> String {
    if notes.is_empty() {
        return code.to_owned();
    }
    format!("{code:<36} ; {}", notes.join("; "))
}
