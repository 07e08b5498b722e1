//! What a program's or library's file says of its code, without being run.

use crate::mapped::Bytes;
use crate::preflight::reason;
use gimli::{BaseAddresses, EhFrameHdr, NativeEndian, Pointer};
use object::elf::{EM_X86_64, ET_DYN, FileHeader64, PF_W, PT_GNU_EH_FRAME, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};
use ppin_abi::addr::ImageOff;
use ppin_persist::Segments;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// What loads libraries, and programs that name it (System V ABI for x86-64).
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Bytes of an address.
const ADDRESS: u8 = 8;

type Header = FileHeader64<Endianness>;

/// See the module.
#[derive(Debug)]
pub struct Unrun {
    /// The program that loads it.
    pub loader: OsString,
    /// Where code begins, ascending. (In the middle of instructions it may also begin: data may look like addresses.)
    pub places: Vec<ImageOff>,
}

impl Unrun {
    /// Looks into the file at `path`.
    ///
    /// # Errors
    /// Why it cannot be loaded, for people.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| reason(&error))?;
        // (A folder and an empty file cannot be mapped.)
        let bytes = Bytes::of(&file).unwrap_or_else(|_| Bytes::Read(Vec::new()));
        Self::of(&bytes)
    }

    fn of(bytes: &[u8]) -> Result<Self, String> {
        let (header, endian) = head(bytes).ok_or("it is no program and no library for x86-64")?;
        let loader = loader(header, bytes, endian);
        let loader = loader.ok_or(
            "it is statically linked, so nothing loads it but the kernel, which runs it, too",
        )?;
        let segments = Segments::of_file(bytes).ok_or("it has no code")?;
        let first = segments.address(0);
        let code: Vec<_> = segments.code().collect();
        let is_code = |off: &i64| {
            code.iter().any(|(start, file)| {
                let len = file.end.saturating_sub(file.start);
                off.wrapping_sub(*start).cast_unsigned() < len
            })
        };
        let places = begins(header, bytes, endian).into_iter();
        let places = places
            .map(|at| at.wrapping_sub(first).cast_signed())
            .filter(is_code);
        let places = places.filter_map(|off| i32::try_from(off).ok());
        Ok(Self {
            loader,
            places: places.map(ImageOff).collect(),
        })
    }
}

/// The head of a file that x86-64 executes.
fn head(bytes: &[u8]) -> Option<(&Header, Endianness)> {
    let header = Header::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    (header.e_machine(endian) == EM_X86_64).then_some((header, endian))
}

/// What loads the file, if something does.
fn loader(header: &Header, bytes: &[u8], endian: Endianness) -> Option<OsString> {
    let segments = header.program_headers(endian, bytes).ok()?;
    let named = segments
        .iter()
        .find_map(|it| it.interpreter(endian, bytes).ok()?);
    let library = || header.e_type(endian) == ET_DYN && is_library(header, bytes, endian);
    let known = named.map(|path| OsString::from_vec(path.to_vec()));
    known.or_else(|| library().then(|| LOADER.into()))
}

/// Whether the file, which names no loader, is a library: a static program that can be moved is of the same type.
fn is_library(header: &Header, bytes: &[u8], endian: Endianness) -> bool {
    use object::elf::{DF_1_PIE, DT_FLAGS_1};
    let segments = header.program_headers(endian, bytes).unwrap_or_default();
    let mut dynamic = segments
        .iter()
        .filter_map(|it| it.dynamic(endian, bytes).ok()?);
    let is_program = |entry: &object::elf::Dyn64<Endianness>| {
        entry.d_tag.get(endian) == DT_FLAGS_1 && entry.d_val.get(endian) & DF_1_PIE as u64 != 0
    };
    !dynamic.any(|entries| entries.iter().any(is_program))
}

/// Addresses, as linked, at which code begins: the entry, symbols, what the table for unwinding lists, and what data
/// refer to.
fn begins(header: &Header, bytes: &[u8], endian: Endianness) -> BTreeSet<u64> {
    let mut found = BTreeSet::from([header.e_entry(endian)]);
    if let Ok(file) = object::File::parse(bytes) {
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let code = symbols.filter(|it| it.kind() == SymbolKind::Text && it.is_definition());
        found.extend(code.map(|symbol| symbol.address()));
        let relocated = file.dynamic_relocations().into_iter().flatten();
        found.extend(relocated.map(|(_, it)| it.addend() as u64));
    }
    for it in header.program_headers(endian, bytes).unwrap_or_default() {
        let data = || it.data(endian, bytes).unwrap_or_default();
        match it.p_type(endian) {
            PT_GNU_EH_FRAME => {
                found.extend(unwound(data(), it.p_vaddr(endian)).unwrap_or_default())
            }
            PT_LOAD if it.p_flags(endian) & PF_W != 0 => found.extend(words(data())),
            _ => {}
        }
    }
    found
}

/// The words of data, which lie as data do: lists of constructors, tables of functions, and what stubs of the linker
/// jump to at first.
fn words(data: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = data.as_chunks();
    words.iter().map(|word| u64::from_le_bytes(*word))
}

/// The functions that the table for unwinding at address `at` lists (`.eh_frame_hdr`, Linux Standard Base Core 10.6).
fn unwound(table: &[u8], at: u64) -> Option<Vec<u64>> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(at);
    let header = EhFrameHdr::new(table, NativeEndian);
    let header = header.parse(&bases, ADDRESS).ok()?;
    let table = header.table()?;
    let mut rows = table.iter(&bases);
    let mut found = Vec::new();
    while let Ok(Some((begin, _))) = rows.next() {
        if let Pointer::Direct(address) = begin {
            found.push(address);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_its_functions() {
        let shell = std::fs::read("/bin/sh").unwrap();
        let found = Unrun::of(&shell).unwrap();
        assert!(found.loader.to_str().unwrap().contains("ld-"));
        let file = object::File::parse(&*shell).unwrap();
        let first = Segments::of_file(&shell).unwrap().address(0);
        let entry = ImageOff((file.entry() - first) as i32);
        assert!(found.places.contains(&entry) && found.places.len() > 100);
        assert!(found.places.is_sorted_by(|a, b| a < b));
    }

    /// (This test is linked statically, as ppin is.)
    #[test]
    fn functions_are_found_without_symbols() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let (header, endian) = head(&own).unwrap();
        let segments = header.program_headers(endian, &*own).unwrap();
        let it = segments
            .iter()
            .find(|it| it.p_type(endian) == PT_GNU_EH_FRAME);
        let it = it.unwrap();
        let found = unwound(it.data(endian, &*own).unwrap(), it.p_vaddr(endian)).unwrap();
        assert!(found.len() > 100);
        let all = begins(header, &own, endian);
        assert!(found.iter().all(|at| all.contains(at)));
        assert_eq!(unwound(&[], 0), None);
    }

    #[test]
    fn what_is_not_loaded_is_told() {
        let why = |bytes: &[u8]| Unrun::of(bytes).unwrap_err();
        assert!(why(b"#!/bin/sh\n").contains("no program"));
        let mut own = std::fs::read("/proc/self/exe").unwrap();
        assert!(why(&own).contains("statically linked"));
        own[18] = 183; // AArch64
        assert!(why(&own).contains("x86-64"));
    }
}
