//! Places in an image that the runtime is to translate although no program comes there (`ppin warm --static`).
//!
//! A file: the image's path and a line feed, then each place as an image offset of four bytes, little-endian.

use crate::addr::ImageOff;

/// Ends the path.
pub const END: u8 = b'\n';

/// What the statistics say if there was no room for all traces: the next process adds more.
pub const LEFT: &str = "there was no room for all that the places lead to";

/// The bytes of a place.
#[must_use]
pub const fn written(place: ImageOff) -> [u8; 4] {
    place.0.to_le_bytes()
}

/// The image's path, and the places; `None`: it is no such file. What is left over at its end is left out.
#[must_use]
pub fn read(file: &[u8]) -> Option<(&[u8], impl Iterator<Item = ImageOff>)> {
    let end = file.iter().position(|byte| *byte == END)?;
    let (path, rest) = file.split_at(end);
    let (places, _) = rest.get(1..)?.as_chunks();
    let places = places.iter();
    Some((path, places.map(|at| ImageOff(i32::from_le_bytes(*at)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut file = *b"/a b\n0123\xff\xff\xff\xffx";
        file[5..9].copy_from_slice(&written(ImageOff(0x0a0a_0a0a)));
        let (path, mut places) = read(&file).unwrap();
        assert_eq!(path, b"/a b");
        assert_eq!(places.next(), Some(ImageOff(0x0a0a_0a0a)));
        assert_eq!((places.next(), places.next()), (Some(ImageOff(-1)), None));
        assert!(read(b"/a").is_none());
    }
}
