//! Records that a tool has appended to its buffers.

use super::{Row, Slice, Text, ValueRow};

/// A buffer that a tool has declared.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BufferRow<'a> {
    /// Name.
    pub name: Text<'static>,
    /// Bytes of a record.
    pub size: u32,
    /// What they hold.
    pub fields: Slice<'a, FieldRow>,
}

impl Row for BufferRow<'static> {
    type Lent<'a> = BufferRow<'a>;
}

/// A field of a record.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FieldRow {
    /// Name.
    pub name: Text<'static>,
    /// Where it begins.
    pub offset: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// A record that is appended.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AppendRow<'a> {
    /// Index of the instruction.
    pub ins: u32,
    /// Number of the buffer.
    pub buffer: u16,
    /// Whether it is made behind the instruction.
    pub after: bool,
    /// Whether that is where the branch leads.
    pub taken: bool,
    /// What each field is.
    pub fields: Slice<'a, PartRow>,
}

/// What a field is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PartRow {
    /// Number of the field.
    pub field: u32,
    /// Its value.
    pub value: ValueRow,
}
