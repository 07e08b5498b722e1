//! The key of a unit: engine, tool and image.

use ppin_abi::area::LAYOUT_VERSION;
use sha2::{Digest, Sha256};

/// Identity of a unit: code is reused only where all three agree. The versions of
/// the format and of the thread area belong to it, too, but are constants here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Which file the image is ([`crate::identity`]).
    pub image: [u8; 32],
    /// SHA-256 of the runtime that translated it.
    pub engine: [u8; 32],
    /// [`tool_key`] of the tool, its knobs and the options that change code.
    pub tool: [u8; 32],
}

impl Key {
    /// Name of the directory for all images under this engine, tool and options.
    #[must_use]
    pub fn directory(&self) -> [u8; 16] {
        let mut hash = Sha256::new();
        hash.update(b"ppin key\0");
        hash.update(crate::FORMAT_VERSION.to_le_bytes());
        hash.update(LAYOUT_VERSION.to_le_bytes());
        hash.update(self.engine);
        hash.update(self.tool);
        let digest: [u8; 32] = hash.finalize().into();
        let mut name = [0; 16];
        name.copy_from_slice(&digest[..16]);
        name
    }
}

/// The option under which code of images below 2 GiB is kept: it holds absolute addresses,
/// and lies where distances would not reach. A program may have mapped the same file both
/// there and above.
pub const LOW_IMAGE: &[u8] = b"low";

/// Identity of a tool as far as it changes code: `name`, the knobs (`name=value`
/// lines, already in canonical order) and the engine options that change code.
/// Lengths are hashed before contents, so that no two triples run together.
#[must_use]
pub fn tool_key(name: &[u8], knobs: &[u8], options: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"ppin tool\0");
    for part in [name, knobs, options] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_tool_key_do_not_run_together() {
        assert_ne!(tool_key(b"ab", b"c", b""), tool_key(b"a", b"bc", b""));
        assert_ne!(tool_key(b"a", b"b", b""), tool_key(b"a", b"", b"b"));
    }

    #[test]
    fn the_directory_depends_on_engine_and_tool_but_not_on_the_image() {
        let key = Key {
            image: [1; 32],
            engine: [2; 32],
            tool: [3; 32],
        };
        let other_image = Key {
            image: [9; 32],
            ..key
        };
        let other_tool = Key {
            tool: [9; 32],
            ..key
        };
        assert_eq!(key.directory(), other_image.directory());
        assert_ne!(key.directory(), other_tool.directory());
    }
}
