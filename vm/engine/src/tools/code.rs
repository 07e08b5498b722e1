//! The machine code of tools, for the compiler.

use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::ops::Range;
use ppin_abi::elf::{HEADER, Header, PROGRAM_HEADER, PT_LOAD, ProgramHeader};
use ppin_api::compiler::CodeBytes;
use ppin_api::{Host, ImageInfo, Knob, Report, Routine, State, ThreadId, Tool, Trace};

/// A tool that lies in the runtime, with its code.
pub(crate) struct WithCode {
    tool: Box<dyn Tool>,
    code: Image,
}

impl WithCode {
    /// `tool`, which lies in the runtime's image at `runtime`.
    pub(crate) fn new(tool: Box<dyn Tool>, runtime: &Range<u64>) -> Self {
        let code = Image::of(runtime);
        Self { tool, code }
    }
}

/// The tool itself, as its routines know it.
pub(crate) fn itself(tool: &'static dyn Tool) -> &'static dyn Any {
    let any: &dyn Any = tool;
    match any.downcast_ref::<WithCode>() {
        Some(with_code) => with_code.tool.as_ref(),
        None => any,
    }
}

impl Tool for WithCode {
    fn name(&self) -> &'static str {
        self.tool.name()
    }
    fn summary(&self) -> &'static str {
        self.tool.summary()
    }
    fn knobs(&self) -> &'static [Knob] {
        self.tool.knobs()
    }
    fn configure(&mut self, knobs: &[(&str, &str)]) -> Result<(), String> {
        self.tool.configure(knobs)
    }
    fn distinguishes_blocks(&self) -> bool {
        self.tool.distinguishes_blocks()
    }
    fn global_counters(&self) -> u32 {
        self.tool.global_counters()
    }
    fn image_counters(&self) -> u32 {
        self.tool.image_counters()
    }
    fn instrument(&self, trace: &Trace<'_>) {
        self.tool.instrument(trace);
    }
    fn states(&self) -> &'static [State] {
        self.tool.states()
    }
    fn routines(&self) -> &'static [Routine] {
        self.tool.routines()
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        Some(&self.code)
    }
    fn start(&self, host: &dyn Host) {
        self.tool.start(host);
    }
    fn thread_start(&self, host: &dyn Host, thread: ThreadId) {
        self.tool.thread_start(host, thread);
    }
    fn thread_fini(&self, host: &dyn Host, thread: ThreadId) {
        self.tool.thread_fini(host, thread);
    }
    fn image_load(&self, host: &dyn Host, image: &ImageInfo) {
        self.tool.image_load(host, image);
    }
    fn image_unload(&self, host: &dyn Host, image: &ImageInfo) {
        self.tool.image_unload(host, image);
    }
    fn fork_child(&self, host: &dyn Host) {
        self.tool.fork_child(host);
    }
    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        self.tool.fini(host, report);
    }
}

/// The runtime's image: code that is mapped here as long as the process lives.
struct Image {
    base: u64,
    end: u64,
    /// What is not writable, by its program headers.
    constant: [Range<u64>; MOST],
}

/// Most segments that are looked at.
const MOST: usize = 8;

impl Image {
    fn of(runtime: &Range<u64>) -> Self {
        let mut image = Self {
            base: runtime.start,
            end: runtime.end,
            constant: [const { 0..0 }; MOST],
        };
        let segments = image.segments().unwrap_or_default();
        image.constant = segments;
        image
    }

    fn bytes(&self, address: u64, len: usize) -> Option<&'static [u8]> {
        let end = address.checked_add(len as u64)?;
        if address < self.base || end > self.end {
            return None;
        }
        // SAFETY: the runtime's image is mapped as long as the process lives. What is read this
        // way is code, constants and headers, which nobody writes to.
        Some(unsafe { core::slice::from_raw_parts(address as *const u8, len) })
    }

    /// The segments that nobody writes to.
    fn segments(&self) -> Option<[Range<u64>; MOST]> {
        const WRITABLE: u32 = 2;
        let header = Header::read(self.bytes(self.base, HEADER)?)?;
        let mut segments = [const { 0..0 }; MOST];
        for (n, segment) in segments
            .iter_mut()
            .enumerate()
            .take(usize::from(header.rows))
        {
            let row = self.base + header.table + (n * PROGRAM_HEADER) as u64;
            let row = ProgramHeader::read(self.bytes(row, PROGRAM_HEADER)?)?;
            if row.kind == PT_LOAD && row.flags & WRITABLE == 0 {
                let start = self.base + row.address;
                *segment = start..start + row.len;
            }
        }
        Some(segments)
    }
}

impl CodeBytes for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.constant(address, buffer)
    }

    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut segments = self.constant.iter();
        let Some(segment) = segments.find(|segment| segment.contains(&address)) else {
            return 0;
        };
        let len = buffer.len().min((segment.end - address) as usize);
        let bytes = self.bytes(address, len).unwrap_or_default();
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }
}
