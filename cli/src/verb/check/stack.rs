//! The initial stack: what the kernel puts there at random, and the vdso.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Types of auxiliary vector entries.
const AT_NULL: u64 = 0;
const AT_IGNORE: u64 = 1;
const AT_RANDOM: u64 = 25;
const AT_SYSINFO_EHDR: u64 = 33;
const RANDOM_LEN: usize = 16;

/// Gives both processes, which have not run yet, the same random bytes and no vdso.
pub fn equalize(native: &File, ours: &File, sp: u64) -> io::Result<()> {
    for (at, kind, value) in auxv(native, sp)? {
        match kind {
            AT_SYSINFO_EHDR => {
                native.write_all_at(&AT_IGNORE.to_le_bytes(), at)?;
                ours.write_all_at(&AT_IGNORE.to_le_bytes(), at)?;
            }
            AT_RANDOM => {
                let mut bytes = [0; RANDOM_LEN];
                native.read_exact_at(&mut bytes, value)?;
                ours.write_all_at(&bytes, value)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Address, type and value of the entries: behind argc, arguments and environment.
fn auxv(mem: &File, sp: u64) -> io::Result<Vec<(u64, u64, u64)>> {
    let word = |at: u64| {
        let mut bytes = [0; 8];
        mem.read_exact_at(&mut bytes, at)
            .map(|()| u64::from_le_bytes(bytes))
    };
    let mut at = sp + 8 * (word(sp)? + 2);
    while word(at)? != 0 {
        at += 8;
    }
    at += 8;
    let mut entries = Vec::new();
    loop {
        match word(at)? {
            AT_NULL => return Ok(entries),
            kind => entries.push((at, kind, word(at + 8)?)),
        }
        at += 16;
    }
}
