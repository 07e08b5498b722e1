//! Buffers of a tool behind the door.

use crate::table::{BufferRow, Each, FieldRow, Functions, This};
use alloc::vec::Vec;
use ppin_api::{Buffer, Field};

/// The buffers of a tool.
pub fn buffers(tool: This, functions: &Functions) -> &'static [Buffer] {
    let field = |row: &FieldRow| Field {
        name: row.name.text(),
        offset: row.offset,
        bytes: row.bytes,
    };
    let mut all = Vec::new();
    let mut take = |row: &BufferRow<'_>| {
        let fields: Vec<Field> = row.fields.get().iter().map(field).collect();
        all.push(Buffer {
            name: row.name.text(),
            size: row.size,
            fields: fields.leak(),
        });
    };
    (functions.buffers)(tool, Each::new(&mut take));
    all.leak()
}
