//! The runtime ELF as the launcher needs it: its size in memory and its first instruction. The rest the runtime's own entry code reads
//! from the program headers, which lie in its first page (see [`crate::load`]).

use ppin_abi::elf::{DYN, Header, PROGRAM_HEADER, PT_LOAD, ProgramHeader, VERSION};

/// Bytes of the file that [`plan`] needs.
pub const HEAD: usize = 1024;

const PAGE: u64 = 4096;

/// How to map a runtime ELF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Room that its segments take, in bytes, whole pages.
    pub span: u64,
    /// Offset of the first instruction, in the file and in memory alike.
    pub entry: u64,
}

/// Reads the ELF header and program headers at the start of a runtime.
///
/// `None` if this is no runtime of ours: not a static x86-64 PIE whose headers
/// and code lie at the same offset in the file and in memory.
#[must_use]
pub fn plan(head: &[u8]) -> Option<Plan> {
    let header = Header::read(head).filter(Header::is_x86_64)?;
    let usual = usize::from(header.row) == PROGRAM_HEADER;
    if header.kind != DYN || header.version != VERSION || !usual {
        return None;
    }
    let (entry, table) = (header.entry, header.table as usize);
    let mut plan = Plan { span: 0, entry };
    let mut runs_in_place = false;
    for index in 0..usize::from(header.rows) {
        let row = head.get(table.checked_add(index * PROGRAM_HEADER)?..)?;
        let segment = ProgramHeader::read(row.get(..PROGRAM_HEADER)?)?;
        if segment.kind == PT_LOAD {
            plan.span = plan.span.max(end(&segment)?);
            runs_in_place |= holds_code(&segment, entry);
        }
    }
    (runs_in_place && plan.span > 0).then_some(plan)
}

fn end(segment: &ProgramHeader) -> Option<u64> {
    segment
        .address
        .checked_add(segment.memory)?
        .checked_next_multiple_of(PAGE)
}

/// Whether the code at `entry` lies at the same offset in the file and in memory.
fn holds_code(segment: &ProgramHeader, entry: u64) -> bool {
    let inside = entry
        .checked_sub(segment.address)
        .is_some_and(|at| at < segment.len);
    segment.is_code() && segment.offset == segment.address && inside
}

/// The head of a small runtime.
#[cfg(test)]
pub fn sample() -> Vec<u8> {
    tests::image(&[tests::CODE])
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn image(rows: &[[u64; 6]]) -> Vec<u8> {
        let mut head = vec![0u8; HEAD];
        head[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        head[16..20].copy_from_slice(&[3, 0, 62, 0]);
        head[24..32].copy_from_slice(&0x1040u64.to_le_bytes());
        head[32..40].copy_from_slice(&64u64.to_le_bytes());
        head[54] = 56;
        head[56] = rows.len() as u8;
        for (index, [kind, flags, offset, vaddr, filesz, memsz]) in rows.iter().enumerate() {
            let row = &mut head[64 + 56 * index..];
            row[..4].copy_from_slice(&(*kind as u32).to_le_bytes());
            row[4..8].copy_from_slice(&(*flags as u32).to_le_bytes());
            row[8..16].copy_from_slice(&offset.to_le_bytes());
            row[16..24].copy_from_slice(&vaddr.to_le_bytes());
            row[32..40].copy_from_slice(&filesz.to_le_bytes());
            row[40..48].copy_from_slice(&memsz.to_le_bytes());
        }
        head
    }

    pub(super) const CODE: [u64; 6] = [1, 5, 0x1000, 0x1000, 0x200, 0x200];

    #[test]
    fn room_covers_the_last_segment() {
        let data = [1, 6, 0x2000, 0x3000, 0x10, 0x5001];
        let plan = plan(&image(&[CODE, data])).unwrap();
        assert_eq!(
            plan,
            Plan {
                span: 0x9000,
                entry: 0x1040
            }
        );
    }

    #[test]
    fn code_that_moves_between_file_and_memory_is_refused() {
        let moved = [1, 5, 0x1000, 0x2000, 0x200, 0x200];
        assert_eq!(plan(&image(&[moved])), None);
    }

    #[test]
    fn any_prefix_and_any_overflow_is_refused_or_read() {
        let huge = [1, 6, 0, u64::MAX - 5, 0, 100];
        assert_eq!(plan(&image(&[CODE, huge])), None);
        let head = image(&[CODE]);
        for len in 0..120 {
            assert_eq!(plan(&head[..len]), None);
        }
    }
}
