//! The mappings of this process one at a time: `PROCMAP_QUERY`, an ioctl(2) on `/proc/PID/maps` (Linux 6.11).

use crate::c;
use crate::call::call;
use crate::errno::{Errno, Result};
use crate::file::File;
use crate::maps::MapEntry;
use alloc::string::String;
use alloc::vec::Vec;

/// `PROCMAP_QUERY`.
pub const NUMBER: u32 = 0xc068_6611;
/// The query asks for the mapping at its address, or else for the next.
pub const COVERING_OR_NEXT: u64 = 0x10;

/// Longest name that is asked for.
const NAME: usize = 4096;

/// `struct procmap_query` of the kernel's `include/uapi/linux/fs.h`.
#[derive(Default)]
#[repr(C)]
struct Query {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    permissions: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_len: u32,
    build_id_len: u32,
    name: u64,
    build_id: u64,
}

/// The list of mappings, open for queries.
#[derive(Debug)]
pub struct MapQuery {
    list: File,
    name: Vec<u8>,
}

impl MapQuery {
    /// That of this process.
    ///
    /// # Errors
    /// `/proc` is missing.
    pub fn open() -> Result<Self> {
        Ok(Self {
            list: File::open("/proc/self/maps", c::O_RDONLY, 0)?,
            name: alloc::vec![0; NAME],
        })
    }

    /// The mapping at `address`, or else the next; `None`: there is none.
    ///
    /// # Errors
    /// The kernel's: it knows no such query, or the mapping's name is too long.
    pub fn first_from(&mut self, address: u64) -> Result<Option<MapEntry>> {
        let mut query = Query {
            size: size_of::<Query>() as u64,
            flags: COVERING_OR_NEXT,
            address,
            name_len: NAME as u32,
            name: self.name.as_mut_ptr() as u64,
            ..Query::default()
        };
        let at = &raw mut query as usize;
        let args = [self.list.fd() as usize, NUMBER as usize, at, 0, 0, 0];
        // SAFETY: a query of ours with a buffer for the name.
        match unsafe { call(c::__NR_ioctl, args) } {
            Ok(_) => Ok(Some(self.entry(&query))),
            Err(Errno::ENOENT) => Ok(None),
            Err(other) => Err(other),
        }
    }

    fn entry(&self, answer: &Query) -> MapEntry {
        let is = |bit: u64| answer.permissions & bit != 0;
        // (The length counts the zero at the end.)
        let name = (answer.name_len as usize).saturating_sub(1);
        MapEntry {
            start: answer.start,
            end: answer.end,
            readable: is(1),
            writable: is(2),
            executable: is(4),
            shared: is(8),
            offset: answer.offset,
            inode: answer.inode,
            path: String::from_utf8_lossy(&self.name[..name]).into_owned(),
        }
    }
}
