//! Identity of an image file.

use crate::error::{Context, Error};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// SHA-256 of a file's contents, by which its units are found.
///
/// # Errors
/// It cannot be read.
pub fn image_hash(path: &Path) -> Result<[u8; 32], Error> {
    let mut file = File::open(path).context("open", path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).context("read", path)? {
            0 => return Ok(hash.finalize().into()),
            len => hash.update(&buffer[..len]),
        }
    }
}
