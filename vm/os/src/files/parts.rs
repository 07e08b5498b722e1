//! Writing several pieces of memory in one piece.

use super::file::write_all;
use crate::{Errno, Result, c, call};
use alloc::vec::Vec;

/// Most pieces that are written by one call of the kernel.
const MOST: usize = 8;

/// Writes all of `parts` to descriptor `fd`, one behind the other. Other writers who append to the
/// same file do not get in between, unless the kernel writes less than it is asked to.
///
/// # Errors
/// The kernel's; a part may have been written.
pub fn write_parts(fd: i32, parts: &[&[u8]]) -> Result<()> {
    match parts {
        [only] => write_all(fd, only),
        few if few.len() <= MOST => {
            let mut written = match gather(fd, few) {
                // A filter of the program may know `write` only.
                Err(Errno::EPERM | Errno::ENOSYS) => return write_all(fd, &few.concat()),
                Err(Errno::EINTR) => 0,
                other => other?,
            };
            for part in few {
                let skipped = written.min(part.len());
                written -= skipped;
                write_all(fd, &part[skipped..])?;
            }
            Ok(())
        }
        many => write_all(fd, &many.concat()),
    }
}

/// writev(2)
fn gather(fd: i32, parts: &[&[u8]]) -> Result<usize> {
    let vectors: Vec<[usize; 2]> = parts
        .iter()
        .map(|part| [part.as_ptr() as usize, part.len()])
        .collect();
    let args = [
        fd as usize,
        vectors.as_ptr() as usize,
        vectors.len(),
        0,
        0,
        0,
    ];
    // SAFETY: the slices are ours.
    unsafe { call(c::__NR_writev, args) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;

    #[test]
    fn parts_follow_each_other() {
        for count in [1, 2, MOST, MOST + 3] {
            let (mut reader, writer) = std::io::pipe().expect("a pipe");
            let parts: Vec<[u8; 3]> = (0..count as u8).map(|n| [n, n, n]).collect();
            let slices: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
            assert_eq!(write_parts(writer.as_raw_fd(), &slices), Ok(()));
            drop(writer);
            let mut found = Vec::new();
            reader.read_to_end(&mut found).expect("a pipe can be read");
            assert_eq!(found, parts.concat());
        }
    }

    #[test]
    fn a_file_that_is_not_open_is_told() {
        assert_eq!(write_parts(-1, &[&[1], &[2]]), Err(Errno::EBADF));
    }
}
