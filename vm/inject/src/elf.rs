//! What the launcher must know of the runtime ELF: how much room it takes and
//! where its first instruction is. The rest the runtime's own entry code reads
//! from the program headers, which lie in its first page (see [`crate::load`]).

/// Bytes of the file that [`plan`] needs.
pub const HEAD: usize = 1024;

const PAGE: u64 = 4096;
const PT_LOAD: u32 = 1;
const PF_X: u32 = 1;
const PHENT: usize = 56;

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
    let magic = head.get(..20)?;
    let dyn_x86_64 = magic[16..20] == [3, 0, 62, 0];
    if !magic.starts_with(b"\x7fELF\x02\x01\x01") || !dyn_x86_64 {
        return None;
    }
    let entry = u64_at(head, 24)?;
    let (table, count) = (u64_at(head, 32)? as usize, u16_at(head, 56)?);
    if usize::from(u16_at(head, 54)?) != PHENT {
        return None;
    }
    let mut plan = Plan { span: 0, entry };
    let mut runs_in_place = false;
    for index in 0..usize::from(count) {
        let row = head
            .get(table.checked_add(index * PHENT)?..)?
            .get(..PHENT)?;
        let load = Load::read(row)?;
        if let Some(load) = load {
            plan.span = plan.span.max(load.end()?);
            runs_in_place |= load.holds_code(entry);
        }
    }
    (runs_in_place && plan.span > 0).then_some(plan)
}

struct Load {
    flags: u32,
    offset: u64,
    vaddr: u64,
    filesz: u64,
    memsz: u64,
}

impl Load {
    /// `Some(None)` for other kinds of program header.
    fn read(row: &[u8]) -> Option<Option<Self>> {
        if u32_at(row, 0)? != PT_LOAD {
            return Some(None);
        }
        Some(Some(Self {
            flags: u32_at(row, 4)?,
            offset: u64_at(row, 8)?,
            vaddr: u64_at(row, 16)?,
            filesz: u64_at(row, 32)?,
            memsz: u64_at(row, 40)?,
        }))
    }

    fn end(&self) -> Option<u64> {
        self.vaddr
            .checked_add(self.memsz)?
            .checked_next_multiple_of(PAGE)
    }

    fn holds_code(&self, entry: u64) -> bool {
        self.flags & PF_X != 0
            && self.offset == self.vaddr
            && entry
                .checked_sub(self.vaddr)
                .is_some_and(|at| at < self.filesz)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
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
