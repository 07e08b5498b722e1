//! What a tool says of itself, read without running it.

use crate::door;
use crate::object::Object;
use crate::refusal::Refusal;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::elf::{u32_at, u64_at};

/// Most knobs of a tool.
const MAX_KNOBS: u64 = 256;
/// Longest name of a tool or knob, in bytes.
const MAX_NAME: u64 = 64;
/// Longest text of any other kind.
const MAX_TEXT: u64 = 1024;

/// A tool's description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// Its name: small letters, digits, `-` and `_`.
    pub name: String,
    /// What it tells, in one sentence.
    pub summary: String,
    /// Its options.
    pub knobs: Vec<KnobCard>,
}

/// A knob's description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnobCard {
    /// Its name, of the same letters.
    pub name: String,
    /// Value if not given.
    pub default: String,
    /// What it does, in one line.
    pub help: String,
    /// Whether it changes what is inserted.
    pub changes_code: bool,
    /// Whether its value is the path of a file that the tool writes.
    pub writes_file: bool,
}

impl Card {
    /// Reads what the door of `object` says, and checks that its functions are code of the
    /// object. `opcodes`: [`door::hash`] of ppin's own.
    ///
    /// # Errors
    /// Why the object is not a tool that this ppin can run.
    pub fn read(object: &Object<'_>, opcodes: u64) -> Result<Self, Refusal> {
        let mut memory = alloc::vec![0; object.span() as usize];
        object.lay_out(&mut memory, 0);
        Self::of_laid_out(object, opcodes, &memory, 0)
    }

    /// The same, of an object that was laid out in `memory` for address `base`.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn of_laid_out(
        object: &Object<'_>,
        opcodes: u64,
        memory: &[u8],
        base: u64,
    ) -> Result<Self, Refusal> {
        let at = usize::try_from(object.door()).map_err(|_| Refusal::NoDoor)?;
        let table = memory.get(at..).ok_or(Refusal::NoDoor)?;
        let table = judged(table, object, opcodes, base)?;
        let reader = Reader { memory, base };
        Ok(Self {
            name: reader.name(table, door::AT_NAME)?,
            summary: reader.text(table, door::AT_SUMMARY)?,
            knobs: reader.knobs(table)?,
        })
    }
}

/// The door's own bytes, if its version is ours and its functions are code.
fn judged<'m>(
    table: &'m [u8],
    object: &Object<'_>,
    opcodes: u64,
    base: u64,
) -> Result<&'m [u8], Refusal> {
    if !object.door().is_multiple_of(8) || !table.starts_with(&door::MAGIC) {
        return Err(Refusal::NoDoor);
    }
    let version = u32_at(table, door::AT_VERSION).ok_or(Refusal::NoDoor)?;
    if version != door::VERSION {
        return Err(Refusal::Version(version));
    }
    let length = u32_at(table, door::AT_LENGTH).filter(|len| *len <= door::MAX_LENGTH);
    let table = length.and_then(|len| table.get(..len as usize));
    let table = table.ok_or(Refusal::Card("its table has no end"))?;
    if u64_at(table, door::AT_OPCODES) != Some(opcodes) {
        return Err(Refusal::Opcodes);
    }
    let functions = table.get(door::AT_FUNCTIONS..).unwrap_or_default();
    let mut functions = functions.chunks(8).map(|word| u64_at(word, 0));
    match functions.all(|at| at.is_some_and(|at| object.is_code(at.wrapping_sub(base)))) {
        true => Ok(table),
        false => Err(Refusal::Card("a function is not code")),
    }
}

/// Reads data that the door points to.
struct Reader<'m> {
    memory: &'m [u8],
    base: u64,
}

impl<'m> Reader<'m> {
    fn bytes(&self, at: u64, len: u64) -> Result<&'m [u8], Refusal> {
        if len == 0 {
            return Ok(&[]);
        }
        let at = at.wrapping_sub(self.base);
        let range = at.checked_add(len).map(|end| at as usize..end as usize);
        let bytes = range.and_then(|range| self.memory.get(range));
        bytes.ok_or(Refusal::Card("a text lies outside the object"))
    }

    fn pair(table: &[u8], at: usize) -> Result<(u64, u64), Refusal> {
        let pair = u64_at(table, at).zip(u64_at(table, at + 8));
        pair.ok_or(Refusal::Card("its table is too short"))
    }

    fn text_up_to(&self, table: &[u8], at: usize, most: u64) -> Result<String, Refusal> {
        let (at, len) = Self::pair(table, at)?;
        if len > most {
            return Err(Refusal::Card("a text is too long"));
        }
        let text = core::str::from_utf8(self.bytes(at, len)?).ok();
        let text = text.filter(|text| !text.chars().any(char::is_control));
        text.map(String::from)
            .ok_or(Refusal::Card("a text is not plain"))
    }

    fn text(&self, table: &[u8], at: usize) -> Result<String, Refusal> {
        self.text_up_to(table, at, MAX_TEXT)
    }

    fn name(&self, table: &[u8], at: usize) -> Result<String, Refusal> {
        let name = self.text_up_to(table, at, MAX_NAME)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        match !name.is_empty() && name.chars().all(plain) {
            true => Ok(name),
            false => Err(Refusal::Card(
                "a name has other characters than a-z, 0-9, - and _",
            )),
        }
    }

    fn knobs(&self, table: &[u8]) -> Result<Vec<KnobCard>, Refusal> {
        let (at, count) = Self::pair(table, door::AT_KNOBS)?;
        if count > MAX_KNOBS {
            return Err(Refusal::Card("it has too many knobs"));
        }
        let rows = self.bytes(at, count * door::KNOB as u64)?;
        rows.chunks_exact(door::KNOB)
            .map(|row| self.knob(row))
            .collect()
    }

    fn knob(&self, row: &[u8]) -> Result<KnobCard, Refusal> {
        let flags = u64_at(row, 3 * door::TEXT).unwrap_or(0);
        Ok(KnobCard {
            name: self.name(row, 0)?,
            default: self.text(row, door::TEXT)?,
            help: self.text(row, 2 * door::TEXT)?,
            changes_code: flags & door::CHANGES_CODE != 0,
            writes_file: flags & door::WRITES_FILE != 0,
        })
    }
}
