//! Images whose code no run can use any more.

use crate::entry::ImageEntry;
use crate::image::image_identity;
use crate::open::Database;
use std::fs;
use std::io::ErrorKind;

impl Database {
    /// Whether the image's file is gone, or has become another. A file that cannot be
    /// looked at is taken to be what it was.
    #[must_use]
    pub fn is_dead(&self, image: &ImageEntry) -> bool {
        let Some(path) = image.path.as_deref().filter(|path| path.is_absolute()) else {
            return false;
        };
        match fs::metadata(path) {
            Ok(meta) if meta.is_file() => {
                image_identity(path).is_some_and(|identity| identity != image.image)
            }
            Ok(_) => true,
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        }
    }
}
