//! Paths of bounded length, made without allocation.

use crate::kernel;
use core::ffi::CStr;

/// Bytes of the longest path, its end included. Longer ones (`PATH_MAX` is 4,096) are rare, and
/// each path would touch a page of the stack.
const MOST: usize = 512;

/// A path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    bytes: [u8; MOST],
    /// Without the byte that ends it.
    len: usize,
}

impl Path {
    const EMPTY: Self = Self {
        bytes: [0; MOST],
        len: 0,
    };

    /// The parts, one behind the other; `None` if that is too long.
    pub(crate) fn of(parts: &[&[u8]]) -> Option<Self> {
        let mut path = Self::EMPTY;
        for part in parts {
            let end = path.len + part.len();
            // The byte behind the path stays 0.
            if end >= MOST {
                return None;
            }
            path.bytes[path.len..end].copy_from_slice(part);
            path.len = end;
        }
        Some(path)
    }

    /// Where the symbolic link `name` leads to.
    pub(crate) fn of_link(name: &CStr) -> Option<Self> {
        let mut path = Self::EMPTY;
        path.len = kernel::read_link(name, &mut path.bytes[..MOST - 1])?;
        // A path that fills all may have been cut off.
        (path.len < MOST - 1).then_some(path)
    }

    /// The current directory.
    pub(crate) fn of_directory() -> Option<Self> {
        let mut path = Self::EMPTY;
        // The kernel counts the byte that ends it.
        path.len = kernel::current_directory(&mut path.bytes)?.checked_sub(1)?;
        Some(path)
    }

    /// `name`, from the current directory if it does not begin with a slash.
    pub(crate) fn absolute(name: &CStr) -> Option<Self> {
        match name.to_bytes() {
            name if name.starts_with(b"/") => Self::of(&[name]),
            name => Self::of(&[Self::of_directory()?.bytes(), b"/", name]),
        }
    }

    /// Whether it is absolute, and as short as can be.
    pub(crate) fn is_plain(&self) -> bool {
        let mut parts = self.bytes().split(|byte| *byte == b'/');
        let absolute = parts.next() == Some(b"") && self.len > 1;
        absolute && parts.all(|part| !matches!(part, b"" | b"." | b".."))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// As the kernel wants it.
    pub(crate) fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_as_long_as_there_is_room() {
        let path = Path::of(&[b"/a", b"/", b"b"]).unwrap();
        assert_eq!((path.bytes(), path.text()), (&b"/a/b"[..], c"/a/b"));
        let long = [b'x'; MOST - 1];
        assert_eq!(Path::of(&[&long]).unwrap().text().to_bytes(), long);
        assert!(Path::of(&[&long, b"x"]).is_none());
    }

    #[test]
    fn links_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/some/where", &link).unwrap();
        let name = std::ffi::CString::new(link.to_str().unwrap()).unwrap();
        assert_eq!(Path::of_link(&name).unwrap().bytes(), b"/some/where");
        assert!(Path::of_link(c"/").is_none());
    }
}
