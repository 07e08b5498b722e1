//! The program's instructions beside what they became.

use super::model::Trace;
use ppin_decode::disasm::{HotLine, Line};

/// A line of a trace: an instruction of the program, a translated one, or both.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub original: Option<&'a Line>,
    pub translated: Option<&'a HotLine>,
}

/// The rows of a trace: each original instruction stands beside the first that belongs to it, and alone if it became no
/// code of its own.
pub fn rows(trace: &Trace) -> Vec<Row<'_>> {
    let original = trace.original.as_deref().unwrap_or_default();
    let mut waiting = original.iter().peekable();
    let mut rows = Vec::new();
    let alone = |line| Row {
        original: Some(line),
        translated: None,
    };
    for hot in &trace.translated {
        let at = trace.address + u64::from(hot.app);
        while let Some(line) = waiting.next_if(|line| line.at < at) {
            rows.push(alone(line));
        }
        rows.push(Row {
            original: waiting.next_if(|line| line.at == at),
            translated: Some(hot),
        });
    }
    rows.extend(waiting.map(alone));
    rows
}
