//! The key of a unit: engine, tool and image.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_abi::area::LAYOUT_VERSION;
use ppin_abi::optimize::Optimize;
use sha2::{Digest, Sha256};

/// Identity of a unit: code is reused only where all three agree. The versions of
/// the format and of the thread area belong to it, too, but are constants here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Which file the image is ([`crate::identity`]).
    pub image: [u8; 32],
    /// SHA-256 of the runtime that translated it.
    pub engine: [u8; 32],
    /// [`tool_key`] of the tools, their knobs and the [`options`] that change code.
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

/// The options of the engine that change code, as [`tool_key`] takes them.
///
/// Code of images below 2 GiB (`low`) is kept under an option of its own: it holds absolute
/// addresses, and lies where distances would not reach. A program may have mapped the same file
/// both there and above. Mechanisms that are off are named.
#[must_use]
pub fn options(low: bool, optimize: Optimize) -> Vec<u8> {
    let mut text = Vec::new();
    if low {
        text.extend_from_slice(b"low");
    }
    if optimize != Optimize::ALL {
        text.push(b'\n');
        text.extend_from_slice(optimize.to_string().as_bytes());
    }
    text
}

/// A tool as far as it changes code: the SHA-256 of its object, and those of its knobs that
/// change what is inserted (`name=value` lines, already in canonical order).
pub type ToolIdentity = ([u8; 32], String);

/// Identity of the tools of a run, in order, and of the [`options`] of the engine. Lengths are
/// hashed before contents, so that no two lists run together.
#[must_use]
pub fn tool_key(tools: &[ToolIdentity], options: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"ppin tools\0");
    hash.update((tools.len() as u64).to_le_bytes());
    for (object, knobs) in tools {
        hash.update(object);
        hash.update((knobs.len() as u64).to_le_bytes());
        hash.update(knobs);
    }
    hash.update((options.len() as u64).to_le_bytes());
    hash.update(options);
    hash.finalize().into()
}

/// SHA-256 of a tool's object.
#[must_use]
pub fn object_hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_tool_key_do_not_run_together() {
        let tool = |n, knobs: &str| ([n; 32], String::from(knobs));
        let keys = [
            tool_key(&[], b""),
            tool_key(&[], b"b"),
            tool_key(&[tool(1, "")], b""),
            tool_key(&[tool(1, "")], b"b"),
            tool_key(&[tool(1, "b")], b""),
            tool_key(&[tool(1, ""), tool(2, "")], b""),
            tool_key(&[tool(2, ""), tool(1, "")], b""),
            tool_key(&[tool(1, ""), tool(1, "")], b""),
        ];
        for (n, one) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(one), "{n}");
        }
    }

    #[test]
    fn every_option_gives_a_key_of_its_own() {
        let options =
            [false, true].map(|low| [Optimize::ALL, Optimize::NONE].map(|set| options(low, set)));
        let all = options.as_flattened();
        assert!(all[0].is_empty());
        for (n, one) in all.iter().enumerate() {
            assert!(!all[..n].contains(one), "{one:?}");
        }
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
