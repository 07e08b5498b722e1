//! What the pages of a range are, by `/proc/PID/pagemap` (the kernel's `Documentation/admin-guide/mm/pagemap.rst`): it
//! looks at that range alone. How much is in memory is asked by `PAGEMAP_SCAN`, an ioctl(2) on it (Linux 6.7).

use crate::c;
use crate::call::call;
use crate::errno::Result;
use crate::file::File;
use crate::mem::PAGE;
use alloc::vec::Vec;

/// `PAGEMAP_SCAN`.
const SCAN: u32 = 0xc060_6610;
/// `PAGE_IS_FILE`.
const FILE: u64 = 1 << 2;
/// `PAGE_IS_PRESENT`.
const PRESENT: u64 = 1 << 3;
/// `PAGE_IS_PFNZERO`.
const ZERO: u64 = 1 << 5;
/// Stretches of pages of a kind that one scan can tell of.
const MOST: usize = 64;

/// `struct pm_scan_arg`.
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walked_to: u64,
    found: u64,
    found_len: u64,
    most_pages: u64,
    /// Categories that a page is not to be in.
    inverted: u64,
    all_of: u64,
    any_of: u64,
    told: u64,
}

/// `struct page_region`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Stretch {
    start: u64,
    end: u64,
    categories: u64,
}

/// Bytes of a range that are in memory. The page of zeroes that untouched memory is read from does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InMemory {
    /// Of no file.
    pub anonymous: u64,
    /// Of files, and shared memory.
    pub file: u64,
}

impl InMemory {
    fn add(&mut self, stretch: &Stretch) {
        let kind = match stretch.categories & FILE {
            0 => &mut self.anonymous,
            _ => &mut self.file,
        };
        *kind += stretch.end - stretch.start;
    }
}

/// This process's pages.
#[derive(Debug)]
pub struct Pagemap(File);

impl Pagemap {
    /// Opens it.
    ///
    /// # Errors
    /// `/proc` is missing.
    pub fn open() -> Result<Self> {
        File::open("/proc/self/pagemap", c::O_RDONLY, 0).map(Self)
    }

    /// The pages from `start` to `end` that are this process's own: copies of a file's, or of no file at all.
    /// (All kernels tell.)
    ///
    /// # Errors
    /// The kernel's.
    pub fn copied(&self, start: u64, end: u64) -> Result<Vec<u64>> {
        /// Bits of an entry.
        const OF_A_FILE: u64 = 1 << 61;
        const THERE: u64 = 1 << 62 | 1 << 63; // swapped out, present
        const ENTRIES: usize = 512;
        let (mut found, mut at) = (Vec::new(), start);
        while at < end {
            let mut entries = [[0; 8]; ENTRIES];
            let len = self.0.read_at(entries.as_flattened_mut(), at / PAGE * 8)?;
            let pages = (at..end).step_by(PAGE as usize).zip(&entries[..len / 8]);
            let own = pages.filter(|(_, entry)| {
                let entry = u64::from_le_bytes(**entry);
                entry & OF_A_FILE == 0 && entry & THERE != 0
            });
            found.extend(own.map(|(page, _)| page));
            at += ENTRIES as u64 * PAGE;
        }
        Ok(found)
    }

    /// How much of the pages from `start` to `end` is in memory.
    ///
    /// # Errors
    /// The kernel's: it cannot scan, or these are no addresses.
    pub fn in_memory(&self, start: u64, end: u64) -> Result<InMemory> {
        let (mut sum, mut at) = (InMemory::default(), start);
        while at < end {
            let mut found = [Stretch::default(); MOST];
            let (count, walked_to) = self.scan(at, end, &mut found)?;
            found.iter().take(count).for_each(|it| sum.add(it));
            at = walked_to.max(at + PAGE);
        }
        Ok(sum)
    }

    /// How many stretches were found, and up to where.
    fn scan(&self, start: u64, end: u64, found: &mut [Stretch; MOST]) -> Result<(usize, u64)> {
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            flags: 0,
            start,
            end,
            walked_to: 0,
            found: found.as_mut_ptr() as u64,
            found_len: MOST as u64,
            most_pages: 0,
            inverted: ZERO,
            all_of: PRESENT | ZERO,
            any_of: 0,
            told: FILE,
        };
        let at = &raw mut scan as usize;
        let args = [self.0.fd() as usize, SCAN as usize, at, 0, 0, 0];
        // SAFETY: an argument of ours, with room for what is found.
        let count = unsafe { call(c::__NR_ioctl, args) }?;
        Ok((count, scan.walked_to))
    }
}
