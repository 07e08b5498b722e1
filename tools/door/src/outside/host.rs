//! The services that a tool is offered, and its report.
#![allow(unsafe_code)]

use super::state::Copy;
use crate::table::{self, Each, HostFunctions, ImageRow, Slice, Text, This, ThreadRow};
use alloc::vec::Vec;
use ppin_api::{FileId, Format, Host, ImageId, ImageInfo, Report, StateCopy, StateId, ThreadId};

static FUNCTIONS: HostFunctions = HostFunctions {
    global_total,
    global_of,
    image_total,
    merged,
    threads,
    images,
    process_id,
    program,
    open,
    append,
};

/// `host` as it crosses.
pub fn host<'a>(host: &'a &dyn Host) -> table::Host<'a> {
    table::Host {
        this: core::ptr::from_ref(host).cast(),
        functions: &FUNCTIONS,
    }
}

fn of<'a>(this: This) -> &'a dyn Host {
    // SAFETY: made by `host`, whose argument outlives the call.
    unsafe { *this.cast::<&dyn Host>() }
}

extern "C" fn global_total(this: This, index: u32) -> u64 {
    of(this).global_total(index)
}

extern "C" fn global_of(this: This, thread: u32, index: u32) -> u64 {
    of(this).global_of(ThreadId(thread), index)
}

extern "C" fn image_total(this: This, image: u32, index: u32) -> u64 {
    of(this).image_total(ImageId(image), index)
}

extern "C" fn merged(this: This, state: u16) -> This {
    let copy = of(this).merged(StateId(state)).map(StateCopy::into_any);
    let copy = copy.and_then(|any| any.downcast::<Copy>().ok());
    copy.map_or(core::ptr::null(), |copy| (*copy).give())
}

extern "C" fn threads(this: This, each: Each<ThreadRow>) {
    for thread in of(this).threads() {
        each.give(&ThreadRow {
            id: thread.id.0,
            tid: thread.tid,
        });
    }
}

extern "C" fn images(this: This, each: Each<ImageRow<'static>>) {
    for info in of(this).images() {
        each.give(&image(&info));
    }
}

/// An image as it crosses.
pub fn image(info: &ImageInfo) -> ImageRow<'_> {
    ImageRow {
        base: info.base.0,
        id: info.id.0,
        path: Text::of(&info.path),
    }
}

extern "C" fn process_id(this: This) -> u32 {
    of(this).process_id()
}

extern "C" fn program(this: This, to: Each<Text<'static>>) {
    to.give(&Text::of(&of(this).program()));
}

extern "C" fn open(this: This, path: Text<'_>) -> i64 {
    match of(this).open(path.text()) {
        Ok(file) => file.0.into(),
        Err(error) => -i64::from(error.0.max(1)),
    }
}

extern "C" fn append(this: This, file: u32, parts: Slice<'_, Slice<'_, u8>>) -> i32 {
    let parts: Vec<_> = parts.get().iter().map(Slice::get).collect();
    match of(this).append_parts(FileId(file), &parts) {
        Ok(()) => 0,
        Err(error) => error.0.max(1),
    }
}

/// `report` as it crosses.
pub fn report(report: &mut &mut dyn Report) -> table::Report {
    table::Report {
        json: report.format() == Format::Json,
        this: core::ptr::from_mut(report).cast(),
        write,
    }
}

extern "C" fn write(this: This, text: Text<'_>) -> bool {
    // SAFETY: made by `report`, whose argument outlives the call and is used by no one else.
    let report = unsafe { &mut *this.cast_mut().cast::<&mut dyn Report>() };
    report.write_str(text.text()).is_ok()
}
