//! Names in directories.

use crate::c;
use crate::call::call;
use crate::errno::Result;
use crate::file::File;
use alloc::string::String;
use alloc::vec::Vec;

/// Names in the directory `path`, without dot entries, in no order.
///
/// # Errors
/// The kernel's.
pub fn list_dir(path: &str) -> Result<Vec<String>> {
    let mut names = list(&File::open(path, c::O_RDONLY | c::O_DIRECTORY, 0)?)?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}

/// Names in an open directory, dot entries included, in no order.
///
/// # Errors
/// The kernel's.
pub fn list(dir: &File) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut buf = alloc::vec![0u8; 8192];
    loop {
        // SAFETY: the buffer is ours.
        let n = unsafe {
            call(
                c::__NR_getdents64,
                [
                    dir.fd() as usize,
                    buf.as_mut_ptr() as usize,
                    buf.len(),
                    0,
                    0,
                    0,
                ],
            )
        }?;
        if n == 0 {
            return Ok(names);
        }
        parse_entries(&buf[..n], &mut names);
    }
}

/// `linux_dirent64`: ino u64, off u64, reclen u16, type u8, name.
fn parse_entries(mut entries: &[u8], names: &mut Vec<String>) {
    while entries.len() > 19 {
        let len = usize::from(u16::from_le_bytes([entries[16], entries[17]]));
        let name = entries[19..len]
            .split(|b| *b == 0)
            .next()
            .unwrap_or_default();
        if let Ok(name) = core::str::from_utf8(name) {
            names.push(name.into());
        }
        entries = &entries[len..];
    }
}
