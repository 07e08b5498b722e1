//! `ppin tool memtrace-print`: a binary file of memtrace as lines (`tools/memtrace/FORMAT.md`).

use crate::failure::{Failure, failed};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Bytes of a header, and of a record.
const UNIT: usize = 24;
const MAGIC: &[u8; 4] = b"ppmt";
const VERSION: u32 = 1;

const READS: u32 = 1;
const WRITES: u32 = 1 << 1;
const REPEATED: u32 = 1 << 2;
const ENDS_EARLY: u32 = 1 << 3;
const SIZE: u32 = 4;

/// Prints the file at `path` to standard output.
pub fn print(path: &Path) -> Result<(), Failure> {
    let name = path.display();
    let cannot = |e: io::Error| failed(format!("cannot read {name}: {e}"));
    let file = File::open(path).map_err(cannot)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = lines(&mut BufReader::new(file), &mut out);
    match printed.and_then(|why| out.flush().map(|()| why)) {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(failed(format!("{name}: {why}"))),
        // Whoever reads the lines has seen enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(cannot(e)),
    }
}

/// Writes the pieces of `file` as lines; why it did not come to the end, if so.
fn lines(file: &mut impl Read, out: &mut impl Write) -> io::Result<Option<&'static str>> {
    loop {
        let mut header = [0; UNIT];
        match fill(file, &mut header)? {
            0 => return Ok(None),
            UNIT => {}
            _ => return Ok(Some(CUT_OFF)),
        }
        let bytes = u64_at(&header, 16);
        if &header[..4] != MAGIC || !bytes.is_multiple_of(UNIT as u64) {
            return Ok(Some("this is no binary file of memtrace"));
        }
        if u32_at(&header, 4) != VERSION {
            return Ok(Some("it has a version that this ppin does not know"));
        }
        writeln!(out, "# thread {}", u32_at(&header, 12))?;
        for _ in 0..bytes / UNIT as u64 {
            let mut record = [0; UNIT];
            if fill(file, &mut record)? != UNIT {
                return Ok(Some(CUT_OFF));
            }
            access(&record, out)?;
        }
    }
}

const CUT_OFF: &str = "its last piece is cut off; all before it was printed";

/// As many bytes as there are.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

fn access(record: &[u8; UNIT], out: &mut impl Write) -> io::Result<()> {
    let (pc, address) = (u64_at(record, 0), u64_at(record, 8));
    let (what, count) = (u32_at(record, 16), u32_at(record, 20));
    let size = u64::from(what >> SIZE);
    let size = match (what & REPEATED != 0, what & ENDS_EARLY != 0) {
        (true, _) if count == 0 => return Ok(()),
        (true, false) => size * u64::from(count),
        _ => size,
    };
    for (bit, letter) in [(READS, 'R'), (WRITES, 'W')] {
        if what & bit != 0 {
            writeln!(out, "{pc:#x}: {letter} {address:#x} {size}")?;
        }
    }
    Ok(())
}

fn u32_at(bytes: &[u8; UNIT], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |word| u32::from_le_bytes(*word))
}

fn u64_at(bytes: &[u8; UNIT], at: usize) -> u64 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(thread: u32, records: &[(u64, u64, u32, u32)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(77_u32.to_le_bytes());
        bytes.extend(thread.to_le_bytes());
        bytes.extend((records.len() as u64 * UNIT as u64).to_le_bytes());
        for (pc, address, what, count) in records {
            bytes.extend([pc.to_le_bytes(), address.to_le_bytes()].concat());
            bytes.extend([what.to_le_bytes(), count.to_le_bytes()].concat());
        }
        bytes
    }

    fn printed(bytes: &[u8]) -> (String, Option<&'static str>) {
        let mut out = Vec::new();
        let why = lines(&mut &bytes[..], &mut out).unwrap();
        (String::from_utf8(out).unwrap(), why)
    }

    #[test]
    fn records_become_lines() {
        let plain = (0x401000, 0x5000, 8 << SIZE | READS | WRITES, 0);
        let repeated = 4 << SIZE | WRITES | REPEATED;
        let records = [
            plain,
            (1, 2, repeated, 3),
            (1, 2, repeated, 0),
            (1, 2, repeated | ENDS_EARLY, 3),
        ];
        let bytes = [piece(0, &records), piece(5, &[])].concat();
        let want = "# thread 0\n0x401000: R 0x5000 8\n0x401000: W 0x5000 8\n0x1: W 0x2 12\n0x1: W 0x2 4\n# thread 5\n";
        assert_eq!(printed(&bytes), (want.to_owned(), None));
    }

    #[test]
    fn what_is_no_whole_file_is_told() {
        let whole = piece(0, &[(1, 2, 3, 4)]);
        for len in 1..whole.len() {
            assert_eq!(printed(&whole[..len]).1, Some(CUT_OFF), "{len}");
        }
        let mut other = whole.clone();
        other[4] = 9;
        assert!(printed(&other).1.is_some_and(|why| why.contains("version")));
        other[0] = b'#';
        assert!(
            printed(&other)
                .1
                .is_some_and(|why| why.contains("no binary"))
        );
        assert_eq!(printed(&[]), (String::new(), None));
    }
}
