//! What the tool is told.

use super::host::Remote;
use super::open::tool;
use crate::table::{self, Host, ImageRow, Slice, Text, This};
use core::fmt;
use ppin_api::{BufferId, Format, ImageBase, ImageId, ImageInfo, Report, ThreadId, Tool};

pub extern "C" fn start<T: Tool>(this: This, host: Host<'_>) {
    tool::<T>(this).start(&Remote(host));
}

pub extern "C" fn thread_start<T: Tool>(this: This, host: Host<'_>, thread: u32) {
    tool::<T>(this).thread_start(&Remote(host), ThreadId(thread));
}

pub extern "C" fn thread_fini<T: Tool>(this: This, host: Host<'_>, thread: u32) {
    tool::<T>(this).thread_fini(&Remote(host), ThreadId(thread));
}

pub extern "C" fn image_load<T: Tool>(this: This, host: Host<'_>, image: &ImageRow<'_>) {
    tool::<T>(this).image_load(&Remote(host), &info(image));
}

pub extern "C" fn image_unload<T: Tool>(this: This, host: Host<'_>, image: &ImageRow<'_>) {
    tool::<T>(this).image_unload(&Remote(host), &info(image));
}

pub extern "C" fn fork_child<T: Tool>(this: This, host: Host<'_>) {
    tool::<T>(this).fork_child(&Remote(host));
}

pub extern "C" fn buffer_full<T: Tool>(
    this: This,
    host: Host<'_>,
    buffer: u16,
    thread: u32,
    records: Slice<'_, u8>,
) {
    let (buffer, thread) = (BufferId(buffer), ThreadId(thread));
    tool::<T>(this).buffer_full(&Remote(host), buffer, thread, records.get());
}

pub extern "C" fn fini<T: Tool>(this: This, host: Host<'_>, report: &table::Report) {
    tool::<T>(this).fini(&Remote(host), &mut Page(report));
}

/// An image, as the API tells it.
pub fn info(row: &ImageRow<'_>) -> ImageInfo {
    ImageInfo {
        id: ImageId(row.id),
        path: row.path.text().into(),
        base: ImageBase(row.base),
    }
}

/// A report on the other side.
struct Page<'a>(&'a table::Report);

impl fmt::Write for Page<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let written = (self.0.write)(self.0.this, Text::of(text));
        if written { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Report for Page<'_> {
    fn format(&self) -> Format {
        if self.0.json {
            Format::Json
        } else {
            Format::Human
        }
    }
}
