//! Which file an image is: see [`ppin_persist::identity`].

use crate::image::Image;
use alloc::vec;
use ppin_os::peek;
use ppin_persist::identity::{self, BuildId, START};

/// Largest code without a file that is worth hashing: the vdso.
const SMALL: u64 = 64 << 10;

/// Identity of an image: from its first page in memory, where its build id lies as a rule,
/// else from its file.
#[must_use]
pub fn of_image(image: &Image) -> Option<[u8; 32]> {
    let Some(stat) = image.file else {
        return of_vdso(image);
    };
    in_memory(image, stat.size).or_else(|| ppin_store::identity::of_file(image.path(), &stat))
}

fn in_memory(image: &Image, len: u64) -> Option<[u8; 32]> {
    let mut start = [0; START];
    let read = peek::read(image.base.0, &mut start);
    let start = &start[..read];
    let offset = image.span.0.wrapping_sub(image.base.0);
    if !identity::is_head_of(start, image.base.0, offset) {
        return None;
    }
    match identity::build_id(start) {
        BuildId::Found(id) => Some(identity::by_build_id(len, id)),
        _ => None,
    }
}

/// The vdso has no file: its bytes are its identity.
fn of_vdso(image: &Image) -> Option<[u8; 32]> {
    let len = image.span.1 - image.span.0;
    if !image.is_vdso() || len > SMALL {
        return None;
    }
    let mut bytes = vec![0; len as usize];
    (peek::read(image.span.0, &mut bytes) == bytes.len()).then(|| identity::by_contents(&bytes))
}
