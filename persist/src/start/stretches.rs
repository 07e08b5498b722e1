//! The app's bytes that many fragments were made from, compared at once.
//!
//! Traces overlap, and lie close together: united, a hundred sources are a few stretches, and one
//! hash of all of them says what a hundred hashes say.

use crate::Source;
use crate::checksum::source_hash;
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;
use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

/// Bytes between two sources that are compared with them: fewer stretches are worth more.
const GAP: i64 = 64;
/// Bytes that are read at once.
const PIECE: usize = 1024;
/// So many stretches further on, bytes are asked for: nobody has read them as data before.
const AHEAD: usize = 4;

/// Stretches of an image, and the hash of the bytes in all of them.
#[derive(Archive, Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Offset in the image and length of each.
    stretches: Vec<(i32, u32)>,
    digest: u64,
}

impl Compared {
    /// Unites `sources`. `read` reads the app's bytes at an offset of the image, and says whether
    /// it could. `None` if some bytes cannot be read, or are not those of a source now.
    pub fn of(
        mut sources: Vec<Source>,
        mut read: impl FnMut(ImageOff, &mut [u8]) -> bool,
    ) -> Option<Self> {
        sources.sort_unstable_by_key(|source| source.head.0);
        let stretches = unite(&sources);
        let mut hasher = Xxh3Default::new();
        let (mut bytes, mut rest) = (Vec::new(), &sources[..]);
        for (start, len) in &stretches {
            bytes.resize(*len as usize, 0);
            if !read(ImageOff(*start), &mut bytes) {
                return None;
            }
            hasher.update(&bytes);
            let end = i64::from(*start) + i64::from(*len);
            let inside = rest.partition_point(|source| i64::from(source.head.0) < end);
            let here;
            (here, rest) = rest.split_at(inside);
            if !here.iter().all(|source| is_in(source, *start, &bytes)) {
                return None;
            }
        }
        Some(Self {
            digest: hasher.digest(),
            stretches,
        })
    }

    /// Whether the app's bytes are the same now. `expect` is told of bytes that are read soon.
    pub fn holds(
        &self,
        mut read: impl FnMut(ImageOff, &mut [u8]) -> bool,
        expect: impl Fn(ImageOff, u32),
    ) -> bool {
        let mut hasher = Xxh3Default::new();
        let mut piece = [0; PIECE];
        let mut ahead = self.stretches().skip(AHEAD);
        for (start, len) in &self.stretches {
            if let Some((start, len)) = ahead.next() {
                expect(start, len);
            }
            let (mut at, mut left) = (*start, *len as usize);
            while left > 0 {
                let bytes = &mut piece[..left.min(PIECE)];
                if !read(ImageOff(at), bytes) {
                    return false;
                }
                hasher.update(bytes);
                left -= bytes.len();
                at = at.wrapping_add(bytes.len() as i32);
            }
        }
        hasher.digest() == self.digest
    }

    /// Offset in the image and length of each stretch.
    pub fn stretches(&self) -> impl Iterator<Item = (ImageOff, u32)> {
        self.stretches
            .iter()
            .map(|(start, len)| (ImageOff(*start), *len))
    }

    /// Whether the app's bytes of `source` are compared.
    #[must_use]
    pub fn covers(&self, source: &Source) -> bool {
        let behind = self
            .stretches
            .partition_point(|(start, _)| *start <= source.head.0);
        let stretch = behind.checked_sub(1).map(|n| self.stretches[n]);
        stretch.is_some_and(|(start, len)| end_of(source) <= i64::from(start) + i64::from(len))
    }
}

fn end_of(source: &Source) -> i64 {
    i64::from(source.head.0) + i64::from(source.len)
}

/// `sources`, which ascend, and the gaps between those that lie close together.
fn unite(sources: &[Source]) -> Vec<(i32, u32)> {
    let mut united: Vec<(i32, u32)> = Vec::new();
    let mut end = i64::MIN;
    for source in sources {
        let start = source.head.0;
        match united.last_mut() {
            Some((first, len)) if i64::from(start) <= end + GAP => {
                end = end.max(end_of(source));
                *len = (end - i64::from(*first)) as u32;
            }
            _ => {
                end = end_of(source);
                united.push((start, source.len));
            }
        }
    }
    united
}

/// Whether the bytes of `source` in `bytes`, which begin at offset `start`, are what it was made
/// from.
fn is_in(source: &Source, start: i32, bytes: &[u8]) -> bool {
    let at = (i64::from(source.head.0) - i64::from(start)) as usize;
    let own = bytes.get(at..at + source.len as usize);
    own.is_some_and(|own| source_hash(own) == source.hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const BASE: i32 = -64;
    const LEN: usize = 4096;

    fn reader(app: &[u8]) -> impl FnMut(ImageOff, &mut [u8]) -> bool {
        |off, to| {
            let at = (off.0 - BASE) as usize;
            let from = app.get(at..at + to.len());
            from.map(|from| to.copy_from_slice(from)).is_some()
        }
    }

    fn nothing(_: ImageOff, _: u32) {}

    fn sources(app: &[u8], places: &[(usize, usize)]) -> Vec<Source> {
        let places = places
            .iter()
            .map(|(at, len)| (*at, (*len).min(app.len() - *at)));
        let source = |(at, len): (usize, usize)| Source {
            head: ImageOff(BASE + at as i32),
            len: len as u32,
            hash: source_hash(&app[at..at + len]),
        };
        places.map(source).collect()
    }

    fn app() -> impl Strategy<Value = Vec<u8>> {
        vec(any::<u8>(), LEN)
    }

    proptest! {
        #[test]
        fn a_byte_of_any_source_that_changes_is_noticed(
            app in app(),
            places in vec((0..LEN, 1..1500usize), 1..20),
            which in any::<prop::sample::Index>(),
            byte in any::<prop::sample::Index>(),
        ) {
            let all = sources(&app, &places);
            let compared = Compared::of(all.clone(), reader(&app)).expect("they are the same");
            prop_assert!(compared.holds(reader(&app), nothing));
            prop_assert!(all.iter().all(|source| compared.covers(source)));
            let source = which.get(&all);
            let mut other = app.clone();
            let at = (source.head.0 - BASE) as usize + byte.index(source.len as usize);
            other[at] ^= 1;
            prop_assert!(!compared.holds(reader(&other), nothing));
            prop_assert_eq!(Compared::of(all, reader(&other)), None);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_compared() {
        let app = alloc::vec![7; LEN];
        let all = sources(&app, &[(0, 100), (4000, 96)]);
        let compared = Compared::of(all.clone(), reader(&app)).expect("they are the same");
        assert_eq!(compared.stretches().count(), 2);
        assert!(!compared.holds(reader(&app[..4090]), nothing));
        assert_eq!(Compared::of(all, reader(&app[..4090])), None);
    }

    #[test]
    fn what_lies_outside_is_not_covered() {
        let app = alloc::vec![7; LEN];
        let compared = Compared::of(sources(&app, &[(100, 50)]), reader(&app)).expect("the same");
        let covers = |at, len| compared.covers(&sources(&app, &[(at, len)])[0]);
        assert!(covers(100, 50) && covers(120, 30));
        assert!(!covers(99, 10) && !covers(120, 31) && !covers(500, 1));
    }
}
