//! The figures that `inspect` shows, as text, JSON or a page.

use ppin_decode::disasm::{HotLine, Line};
use ppin_persist::UnitSummary;
use std::path::PathBuf;

/// A form in which the model is shown.
pub trait Printer {
    /// All images.
    fn images(&mut self, images: &[Image]);
    /// The units of some images, those of one image together.
    fn units(&mut self, units: &[UnitFigures]);
    /// The traces of one unit.
    fn traces(&mut self, traces: &Traces);
    /// One trace with its code.
    fn trace(&mut self, trace: &Trace);
}

/// An image under one tool.
pub struct Image {
    /// Its path, as far as it is known.
    pub name: String,
    pub identity: [u8; 32],
    /// The tool and its knobs.
    pub tool: String,
    /// How many units it has.
    pub units: usize,
    /// Bytes of their files.
    pub bytes: u64,
    /// Sums over those that can be read.
    pub sum: UnitSummary,
}

/// A unit.
pub struct UnitFigures {
    /// Its file, relative to the database if it lies there.
    pub path: PathBuf,
    /// The file's name.
    pub name: String,
    /// Path of its image.
    pub image: String,
    /// Why the image's bytes cannot be had, if they cannot.
    pub image_error: Option<String>,
    /// The tool and its knobs.
    pub tool: String,
    /// Where its code was laid out, seen from the image's base.
    pub displacement: i64,
    /// Sizes and numbers.
    pub sum: UnitSummary,
}

/// A call of an analysis routine.
pub struct Call {
    /// The program's instruction, as `nm` and `objdump` print addresses.
    pub address: u64,
    /// Whether it is made behind the instruction.
    pub after: bool,
    /// Whether it is made where the branch leads.
    pub taken: bool,
    /// `if` of what decides, `then` of what it decides about, empty of others.
    pub part: &'static str,
    /// The routine.
    pub routine: &'static str,
    /// How it is made, and why it is not in line if it is not.
    pub how: &'static str,
}

/// The traces of a unit.
pub struct Traces {
    /// Path of the unit.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Path of its image.
    pub image: String,
    /// The tool and its knobs.
    pub tool: String,
    pub traces: Vec<TraceFigures>,
    /// How many there are, those included that are damaged and not in the list.
    pub count: usize,
}

/// A trace without its code.
pub struct TraceFigures {
    /// Number in the unit.
    pub number: u32,
    /// Where its source begins, seen from the image's base.
    pub offset: i32,
    /// The same as `nm` and `objdump` print it.
    pub address: u64,
    /// The same with a name for people.
    pub place: String,
    /// The function.
    pub symbol: Option<String>,
    /// Static context.
    pub context: u32,
    pub instructions: u32,
    pub source_bytes: u32,
    pub hot_bytes: usize,
    pub cold_bytes: usize,
}

/// A trace with its code.
pub struct Trace {
    /// Path of the image.
    pub image: String,
    /// Path of the unit.
    pub unit: PathBuf,
    /// The unit's name.
    pub unit_name: String,
    /// The tool and its knobs.
    pub tool: String,
    /// Number in the unit.
    pub number: u32,
    /// Where its source begins, seen from the image's base.
    pub offset: i32,
    /// The same as `nm` and `objdump` print it.
    pub address: u64,
    /// The same with a name for people.
    pub place: String,
    /// The function, and how far inside it.
    pub symbol: Option<(String, u64)>,
    /// Static context.
    pub context: u32,
    pub instructions: u32,
    /// Branches that it follows.
    pub follows: u32,
    pub source_bytes: u32,
    pub relocations: usize,
    /// An indirect branch has reached it.
    pub indirect_target: bool,
    /// The program's instructions, or why they cannot be shown.
    pub original: Result<Vec<Line>, String>,
    /// Their translation.
    pub translated: Vec<HotLine>,
    pub exits: Vec<Exit>,
    /// The calls that the tool has inserted.
    pub calls: Vec<Call>,
}

/// A direct exit of a trace.
pub struct Exit {
    /// Where it leads, as `nm` and `objdump` print it.
    pub target: u64,
    /// The same with a name for people.
    pub place: String,
    /// The function there.
    pub symbol: Option<String>,
    /// Static context there.
    pub context: u32,
    /// The unit holds the trace that it leads to.
    pub linked: bool,
}

impl Exit {
    /// Whether the trace that it leads to is in the unit, in words.
    pub const fn state(&self) -> &'static str {
        match self.linked {
            true => "linked",
            false => "not in this unit",
        }
    }
}

impl Call {
    /// The call in words.
    pub fn text(&self) -> String {
        let place = match (self.taken, self.after) {
            (true, _) => "if taken",
            (false, true) => "behind",
            (false, false) => "before",
        };
        let (routine, at, how) = (self.routine, self.address, self.how);
        let part = match self.part {
            "" => String::new(),
            part => format!("{part} "),
        };
        format!("{part}{routine} {place} {at:x}: {how}")
    }
}
