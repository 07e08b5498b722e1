//! The model as JSON, an object on a line.

use super::model::{Call, Exit, Image, Printer, Trace, Traces, UnitFigures};
use ppin_decode::disasm::{HotLine, Line};
use ppin_persist::UnitSummary;
use ppin_persist::paths::to_hex;
use serde_json::{Value, json};

/// Prints JSON.
pub struct Json;

impl Printer for Json {
    fn images(&mut self, images: &[Image]) {
        for image in images {
            let mut object = figures(&image.sum);
            object["image"] = json!(image.name);
            object["identity"] = json!(to_hex(&image.identity));
            object["tool"] = json!(image.tool);
            object["units"] = json!(image.units);
            println!("{object}");
        }
    }

    fn units(&mut self, units: &[UnitFigures]) {
        for unit in units {
            let mut object = figures(&unit.sum);
            object["unit"] = json!(unit.path.to_string_lossy());
            object["image"] = json!(unit.image);
            object["tool"] = json!(unit.tool);
            object["displacement"] = json!(unit.displacement);
            println!("{object}");
        }
    }

    fn traces(&mut self, traces: &Traces) {
        for trace in &traces.traces {
            let object = json!({
                "trace": trace.number,
                "unit": traces.path.to_string_lossy(),
                "offset": trace.offset,
                "address": trace.address,
                "symbol": trace.symbol,
                "context": trace.context,
                "instructions": trace.instructions,
                "source_bytes": trace.source_bytes,
                "hot_bytes": trace.hot_bytes,
                "cold_bytes": trace.cold_bytes,
            });
            println!("{object}");
        }
    }

    fn trace(&mut self, trace: &Trace) {
        println!("{}", object(trace));
    }
}

fn figures(sum: &UnitSummary) -> Value {
    json!({
        "traces": sum.fragments,
        "instructions": sum.instructions,
        "source_bytes": sum.source,
        "hot_bytes": sum.hot,
        "cold_bytes": sum.cold,
        "slot_bytes": sum.slots,
        "table_bytes": sum.tables,
        "file_bytes": sum.file,
        "exits": sum.exits,
        "linked_exits": sum.linked,
    })
}

fn call(call: &Call) -> Value {
    json!({
        "address": call.address,
        "after": call.after,
        "taken": call.taken,
        "part": call.part,
        "routine": call.routine,
        "how": call.how,
    })
}

fn object(trace: &Trace) -> Value {
    let symbol = trace.symbol.as_ref();
    let original = trace
        .original
        .as_ref()
        .map(|lines| lines.iter().map(original).collect());
    let translated = trace
        .translated
        .iter()
        .map(|line| translated(trace.address, line));
    json!({
        "image": trace.image,
        "unit": trace.unit.to_string_lossy(),
        "tool": trace.tool,
        "trace": trace.number,
        "address": trace.address,
        "offset": trace.offset,
        "symbol": symbol.map(|(name, inside)| json!({ "name": name, "offset": inside })),
        "context": trace.context,
        "instructions": trace.instructions,
        "follows": trace.follows,
        "source_bytes": trace.source_bytes,
        "relocations": trace.relocations,
        "original": original.as_ref().ok().cloned().map(Value::Array),
        "original_error": original.err(),
        "translated": translated.collect::<Vec<_>>(),
        "exits": trace.exits.iter().map(exit).collect::<Vec<_>>(),
        "calls": trace.calls.iter().map(call).collect::<Vec<_>>(),
    })
}

fn original(line: &Line) -> Value {
    json!({ "address": line.at, "bytes": to_hex(&line.bytes), "text": line.text })
}

fn translated(address: u64, hot: &HotLine) -> Value {
    json!({
        "offset": hot.line.at,
        "address": address + u64::from(hot.app),
        "bytes": to_hex(&hot.line.bytes),
        "text": hot.line.text,
        "notes": hot.notes,
    })
}

fn exit(exit: &Exit) -> Value {
    json!({
        "target": exit.target,
        "symbol": exit.symbol,
        "context": exit.context,
        "linked": exit.linked,
    })
}
