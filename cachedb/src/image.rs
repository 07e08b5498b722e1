//! Identity of an image file (`ppin_persist::identity`).

use ppin_persist::identity::{self, BuildId, START, Sample};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// By what the units of a file are found. Some 256 KB of it are read at most.
///
/// # Errors
/// It cannot be read.
pub fn image_identity(path: &Path) -> io::Result<[u8; 32]> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let start = part(&file, 0..len.min(START as u64))?;
    let id = match identity::build_id(&start) {
        BuildId::Found(id) => Some(id.to_vec()),
        BuildId::In(notes) => notes
            .into_iter()
            .filter(|notes| notes.end <= len)
            .find_map(|notes| identity::note_id(&part(&file, notes).ok()?).map(<[u8]>::to_vec)),
        BuildId::None => None,
    };
    if let Some(id) = id {
        return Ok(identity::by_build_id(len, &id));
    }
    let mut sample = Sample::new(len);
    for range in identity::sample_of(len) {
        sample.add(&part(&file, range)?);
    }
    Ok(sample.finish())
}

fn part(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes)
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
            assert_eq!(image_identity(&path).unwrap(), expected);
        }
    }
}
