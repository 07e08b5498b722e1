//! What images and tools of the database are called.

use ppin_cachedb::ImageEntry;

/// The path of an image, as far as it is known.
pub fn name(image: &ImageEntry) -> String {
    image
        .path
        .as_ref()
        .map_or_else(|| "?".to_owned(), |path| path.display().to_string())
}

/// The tools and their knobs, on one line.
pub fn label(text: &str) -> String {
    ppin_offline::Label::parse(text.as_bytes()).summary()
}
