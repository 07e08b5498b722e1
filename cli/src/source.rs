//! The bytes that persisted code was made from.

use crate::mapped::Bytes;
use ppin_attach::mappings;
use ppin_persist::identity;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Name of the code that the kernel maps into every process.
const VDSO: &str = "[vdso]";

/// The image at `path` if it has this identity.
///
/// # Errors
/// Why there is no such image, for people.
pub fn image(path: &Path, identity: &[u8; 32]) -> Result<Bytes, String> {
    let is_vdso = path == Path::new(VDSO);
    let bytes = if is_vdso {
        Bytes::Read(vdso().ok_or("this process has no vdso")?)
    } else if path.is_absolute() {
        let mapped = File::open(path).and_then(|file| Bytes::of(&file));
        mapped.map_err(|error| format!("{}: {error}", path.display()))?
    } else {
        return Err(format!("{} is no file", path.display()));
    };
    let found = if is_vdso {
        identity::by_contents(&bytes)
    } else {
        identity::of_file(&bytes)
    };
    if found != *identity {
        return Err(match is_vdso {
            true => "the vdso is that of another kernel".to_owned(),
            false => format!("{} has changed since", path.display()),
        });
    }
    Ok(bytes)
}

/// Our own vdso, which is that of every 64-bit process under this kernel.
fn vdso() -> Option<Vec<u8>> {
    let mut mappings = mappings::of("self").ok()?.into_iter();
    let range = mappings.find(|mapping| mapping.path == VDSO)?.range;
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(range.start)).ok()?;
    let mut bytes = vec![0; range.end.checked_sub(range.start)? as usize];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_image_is_known_by_its_contents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, b"contents").unwrap();
        let hash = identity::of_file(b"contents");
        assert_eq!(&*image(&path, &hash).unwrap(), b"contents");
        fs::write(&path, b"changed").unwrap();
        assert!(image(&path, &hash).unwrap_err().contains("has changed"));
        assert!(
            image(Path::new("[anonymous]"), &hash)
                .unwrap_err()
                .contains("no file")
        );
    }

    #[test]
    fn the_vdso_is_an_elf_image() {
        assert!(vdso().unwrap().starts_with(b"\x7fELF"));
    }
}
