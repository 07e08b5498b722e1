//! Identity of an image file (`ppin_persist::identity`).

use ppin_persist::identity;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// By what the units of a file are found; `None` if it cannot be read.
#[must_use]
pub fn image_identity(path: &Path) -> Option<[u8; 32]> {
    let file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    identity::of(len, |at, to| file.read_exact_at(to, at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_identity_of_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let large: Vec<u8> = (0..700_000u32).map(|n| (n >> 3) as u8).collect();
        let own = std::fs::read("/proc/self/exe").unwrap();
        for bytes in [b"short".to_vec(), large, own] {
            std::fs::write(&path, &bytes).unwrap();
            let expected = identity::of_file(&bytes);
            assert_eq!(image_identity(&path), Some(expected));
        }
    }
}
