//! What is executable in a new process, told from what the kernel has put on its stack (getauxval(3)) and
//! from the headers of program and interpreter in memory (elf(5)).
//!
//! The kernel's own list, `/proc/self/maps`, says the same. But the first look at `/proc` makes the
//! kernel set up what it shows there of the process, and to write the list takes it longer than all
//! that is asked here. The list is read where anything is unusual.
//!
//! No handler for faults is there yet, and what the headers say may be wrong: so they are read by the kernel,
//! all by one call.

use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use ppin_abi::elf::{
    Header, PF_W, PF_X, PROGRAM_HEADER, PT_GNU_STACK, PT_INTERP, PT_LOAD, PT_PHDR, ProgramHeader,
};
use ppin_os::auxv::{self, AT_BASE, AT_EXECFN, AT_PHDR, AT_PHNUM, AT_SYSINFO_EHDR};
use ppin_os::file::{self, Stat};
use ppin_os::maps::MapEntry;
use ppin_os::mem::{PAGE, page_down, page_up};
use ppin_os::{peek, proc};

/// Executable memory, and the state of its file.
pub type Code = (MapEntry, Option<Stat>);

/// Bytes of the beginning of a file that are looked at: its headers, and behind them the interpreter's path.
const BEGINNING: usize = 1024;
/// Longest path of the program that is read, the zero behind it included.
const MAX_PATH: usize = 512;

/// What is executable in the process of which the program's first stack pointer is `stack`. `program` is the
/// device and inode number of the file that was to be executed. `None`: it cannot be told from this.
#[must_use]
pub fn of(stack: u64, program: [u64; 2]) -> Option<Vec<Code>> {
    let kinds = [AT_PHDR, AT_PHNUM, AT_BASE, AT_SYSINFO_EHDR, AT_EXECFN];
    let [table, rows, base, vdso, name] = auxv::values(stack, kinds);
    let (table, vdso) = (table?, vdso?);
    let base = base.filter(|base| *base != 0);
    let mut bytes = Vec::new();
    let places = [
        (page_down(table), BEGINNING),
        (base.unwrap_or(vdso), BEGINNING),
        (vdso, BEGINNING),
        (name?, MAX_PATH),
    ];
    let [own, interpreter, kernels, name] = pieces(places, &mut bytes)?;
    let rows = own.rows(table, rows?)?;
    let bias = bias(&rows, table)?;
    let implied = proc::persona().is_none_or(|bits| bits & proc::READ_IMPLIES_EXEC != 0);
    if implied || !keeps_stack_and_data_apart(&rows) {
        return None;
    }
    let file = stat(name.from(name.start)?)?;
    let file = Some(file).filter(|stat| [stat.dev, stat.ino] == program)?;
    let mut found = code(&rows, bias, Some(file))?;
    if let Some(base) = base {
        let path = rows.iter().find(|row| row.kind == PT_INTERP)?;
        let file = stat(own.from(bias.wrapping_add(path.address))?)?;
        found.extend(code(&interpreter.rows_of_file()?, base, Some(file))?);
    }
    found.extend(code_of_vdso(&kernels)?);
    Some(found)
}

/// A piece of memory, as it was read.
struct Piece<'a> {
    start: u64,
    bytes: &'a [u8],
}

/// Reads pieces of memory, address and length, into `bytes`. What of them lies on another page is left out.
fn pieces<const N: usize>(of: [(u64, usize); N], bytes: &mut Vec<u8>) -> Option<[Piece<'_>; N]> {
    let of = of.map(|(at, len)| (at, len.min((PAGE - at % PAGE) as usize)));
    bytes.resize(of.iter().map(|(_, len)| len).sum(), 0);
    peek::gather_by_kernel(of, bytes)?;
    let mut rest = bytes.as_slice();
    Some(of.map(|(start, len)| {
        let bytes = rest.split_off(..len).unwrap_or_default();
        Piece { start, bytes }
    }))
}

impl Piece<'_> {
    /// What it has from `address` on.
    fn from(&self, address: u64) -> Option<&[u8]> {
        let from = usize::try_from(address.wrapping_sub(self.start)).ok()?;
        self.bytes.get(from..)
    }

    /// So many program headers at `table`.
    fn rows(&self, table: u64, rows: u64) -> Option<Vec<ProgramHeader>> {
        let len = usize::try_from(rows).ok()?.checked_mul(PROGRAM_HEADER)?;
        let rows = self.from(table)?.get(..len)?.chunks_exact(PROGRAM_HEADER);
        rows.map(ProgramHeader::read).collect()
    }

    /// The program headers of the file that begins here.
    fn rows_of_file(&self) -> Option<Vec<ProgramHeader>> {
        let header = Header::read(self.bytes).filter(Header::is_x86_64)?;
        let usual = usize::from(header.row) == PROGRAM_HEADER;
        let table = self.start.wrapping_add(header.table);
        self.rows(table, header.rows.into()).filter(|_| usual)
    }
}

/// The state of the file whose path `text` begins with.
fn stat(text: &[u8]) -> Option<Stat> {
    let path = CStr::from_bytes_until_nul(text).ok()?;
    file::stat_behind(path.to_str().ok()?).ok()
}

/// What must be added to the addresses in `rows`, which lie at `table`.
fn bias(rows: &[ProgramHeader], table: u64) -> Option<u64> {
    if let Some(own) = rows.iter().find(|row| row.kind == PT_PHDR) {
        return Some(table.wrapping_sub(own.address));
    }
    // Without that, the program is linked for the place where it lies, or it is not known.
    let mut loaded = rows.iter().filter(|row| row.kind == PT_LOAD);
    let here = |row: &ProgramHeader| table.wrapping_sub(row.address) < row.len;
    loaded.any(here).then_some(0)
}

/// Whether the kernel made neither the stack executable nor all that can be read.
fn keeps_stack_and_data_apart(rows: &[ProgramHeader]) -> bool {
    let stack = rows.iter().find(|row| row.kind == PT_GNU_STACK);
    stack.is_some_and(|row| row.flags & PF_X == 0)
}

/// The segments of code. `None` if one is unusual: it can be written to, or does not only hold what
/// is in the file.
fn code(rows: &[ProgramHeader], bias: u64, file: Option<Stat>) -> Option<Vec<Code>> {
    let segments = rows.iter().filter(|row| row.is_code());
    let entry = |row: &ProgramHeader| {
        let start = bias.wrapping_add(row.address);
        let usual = row.flags & PF_W == 0 && row.memory == row.len;
        let entry = MapEntry {
            start: page_down(start),
            end: page_up(start.wrapping_add(row.memory)),
            readable: true,
            executable: true,
            offset: page_down(row.offset),
            inode: file.map_or(0, |file| file.ino),
            ..MapEntry::default()
        };
        usual.then_some((entry, file))
    };
    segments.map(entry).collect()
}

fn code_of_vdso(vdso: &Piece<'_>) -> Option<Vec<Code>> {
    let mut found = code(&vdso.rows_of_file()?, vdso.start, None)?;
    for (entry, _) in &mut found {
        entry.path = String::from("[vdso]");
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    /// This process's own auxiliary vector, as on a first stack.
    fn stack() -> Vec<u64> {
        let bytes = std::fs::read("/proc/self/auxv").expect("the kernel shows it");
        let words = bytes.chunks_exact(8);
        let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
        [0, 0, 0].into_iter().chain(words).collect()
    }

    fn own_file() -> [u64; 2] {
        use std::os::unix::fs::MetadataExt;
        let own = std::fs::metadata("/proc/self/exe").expect("it is there");
        [own.dev(), own.ino()]
    }

    #[test]
    fn the_kernels_list_has_the_same() {
        let found = of(stack().as_ptr() as u64, own_file()).expect("a usual process");
        let listed = ppin_os::maps::read().expect("the kernel's list");
        let what = |entry: &MapEntry| (entry.start, entry.end, entry.offset, entry.inode);
        for (entry, file) in &found {
            assert!(
                listed
                    .iter()
                    .any(|one| what(one) == what(entry) && one.executable),
                "{entry:?}"
            );
            assert_eq!(file.map_or(0, |file| file.ino), entry.inode);
        }
        let known = |inode: u64| {
            found
                .iter()
                .filter(|(entry, _)| entry.inode == inode)
                .count()
        };
        assert_eq!((known(own_file()[1]), known(0)), (1, 1));
        assert_eq!(found.len(), 3, "with the interpreter");
    }

    #[test]
    fn another_file_than_was_to_be_executed_is_not_guessed_at() {
        let [device, inode] = own_file();
        assert!(of(stack().as_ptr() as u64, [device, inode + 1]).is_none());
        assert!(of(stack().as_ptr() as u64, [0, 0]).is_none());
    }

    #[test]
    fn what_is_unusual_is_left_to_the_list() {
        let row = ProgramHeader {
            kind: PT_LOAD,
            flags: PF_X,
            offset: 0x1010,
            address: 0x2010,
            len: 0x100,
            memory: 0x100,
        };
        let found = code(&[row], 0x10_0000, None).expect("usual");
        let (start, end, offset) = (found[0].0.start, found[0].0.end, found[0].0.offset);
        assert_eq!((start, end, offset), (0x10_2000, 0x10_3000, 0x1000));
        let writable = ProgramHeader {
            flags: PF_X | PF_W,
            ..row
        };
        let longer = ProgramHeader {
            memory: 0x101,
            ..row
        };
        assert!(code(&[writable], 0, None).is_none() && code(&[longer], 0, None).is_none());
        let stack = |flags| ProgramHeader {
            kind: PT_GNU_STACK,
            flags,
            ..row
        };
        assert!(keeps_stack_and_data_apart(&[row, stack(PF_W)]));
        assert!(!keeps_stack_and_data_apart(&[row, stack(PF_X)]));
        assert!(!keeps_stack_and_data_apart(&[row]));
        assert_eq!(bias(&[row], 0x2020), Some(0));
        assert_eq!(bias(&[row], 0x3000), None);
    }
}
