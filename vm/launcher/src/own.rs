//! The ppin executable itself: its path, and an open descriptor.
//!
//! The kernel tells a new program the path by which it was executed. If that path is absolute, as short as
//! can be and leads through no symbolic link, it is what `/proc/self/exe` leads to, unless the file was
//! replaced since: behind the runtime, its identity tells. The first look at `/proc` makes the kernel set up
//! what it shows there of the process, which takes longer than opening the file.

use crate::kernel;
use crate::path::Path;
use crate::stack::Stack;
use core::ffi::CStr;
use ppin_abi::boot::RuntimeSpan;
use ppin_inject::Carrier;

/// By this name the kernel lets us open our own executable, wherever it lies.
const LINK: &CStr = c"/proc/self/exe";

/// See the module.
pub(crate) struct Own {
    /// Its path.
    pub path: Path,
    /// Whether the file there is known to be what `/proc/self/exe` leads to.
    is_plain: bool,
}

impl Own {
    /// From what the kernel has told.
    pub(crate) fn find(stack: &Stack) -> Option<Self> {
        let named = stack.executed().map(from_here).and_then(Path::absolute);
        match named.filter(Path::is_plain) {
            Some(path) => Some(Self {
                path,
                is_plain: true,
            }),
            None => Some(Self {
                path: Path::of_link(LINK)?,
                is_plain: false,
            }),
        }
    }

    /// Opens it, if the file at its path has the runtime with this identity at `runtime`. A path that leads
    /// elsewhere is made right.
    pub(crate) fn open(&mut self, runtime: RuntimeSpan, id: &[u8; 32]) -> Option<Carrier<'static>> {
        if self.is_plain {
            if let Some(file) = kernel::open_without_links(self.path.text()) {
                if holds(file, runtime, id) {
                    return Some(Carrier::Opened(file));
                }
                kernel::close(file);
            }
            self.path = Path::of_link(LINK)?;
        }
        Some(Carrier::At(LINK))
    }
}

/// `name` without what says that it begins in the current directory.
fn from_here(name: &CStr) -> &CStr {
    let bytes = name.to_bytes_with_nul();
    let rest = bytes.strip_prefix(b"./").unwrap_or(bytes);
    CStr::from_bytes_with_nul(rest).unwrap_or(name)
}

/// Whether `file` has the identity of the runtime at `runtime` behind it.
fn holds(file: i32, runtime: RuntimeSpan, id: &[u8; 32]) -> bool {
    let mut found = [0; 32];
    let read = kernel::read_at(file, &mut found, runtime.offset + runtime.len);
    read == Some(found.len()) && found == *id
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;

    const ID: [u8; 32] = [7; 32];
    const SPAN: RuntimeSpan = RuntimeSpan { offset: 8, len: 4 };

    #[test]
    fn a_path_from_here_is_plain() {
        assert_eq!(from_here(c"./a/b"), c"a/b");
        assert_eq!(from_here(c".a"), c".a");
        assert_eq!(from_here(c"/a"), c"/a");
    }

    #[test]
    fn only_the_file_with_our_runtime_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let put = |name: &str, id: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, [&[0; 12], id].concat()).unwrap();
            path
        };
        let open = |path: &std::path::Path| {
            let path = CString::new(path.to_str().unwrap()).unwrap();
            let path = Path::absolute(&path).unwrap();
            let mut own = Own {
                path,
                is_plain: true,
            };
            let carrier = own.open(SPAN, &ID).unwrap();
            if let Carrier::Opened(file) = carrier {
                kernel::close(file);
            }
            (matches!(carrier, Carrier::Opened(_)), own.path)
        };
        let ours = put("ours", &ID);
        assert!(open(&ours).0);
        let link = folder.join("link");
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        let this = std::env::current_exe().unwrap();
        let others = [put("other", &[8; 32]), put("short", &ID[1..]), link];
        for path in others.iter().chain([&folder.join("none")]) {
            let (opened, named) = open(path);
            assert!(!opened, "{}", path.display());
            assert_eq!(named.text().to_str(), Ok(this.to_str().unwrap()));
        }
    }
}
