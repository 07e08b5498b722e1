//! Which images a word on the command line means.

use crate::failure::{Failure, USAGE, failed};
use ppin_cachedb::Selection;

/// Units by a word of the user's: a path, or the first digits of an image's identity.
pub fn selection(word: &str) -> Result<Selection, Failure> {
    if word.contains('/') {
        return match std::path::absolute(word) {
            Ok(path) => Ok(Selection::Path(
                std::fs::canonicalize(&path).unwrap_or(path),
            )),
            Err(error) => Err(failed(format!("{word}: {error}"))),
        };
    }
    if word.starts_with('[') {
        return Ok(Selection::Path(word.into()));
    }
    if !word.is_empty() && word.len() <= 64 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Selection::Image(word.to_owned()));
    }
    Err(Failure::new(
        USAGE,
        format!("{word} is neither a path (with a slash in it) nor the beginning of an identity"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_selects_by_path_or_by_hash() {
        assert_eq!(selection("00aF").unwrap(), Selection::Image("00aF".into()));
        assert_eq!(
            selection("/nonexistent/x").unwrap(),
            Selection::Path("/nonexistent/x".into())
        );
        assert_eq!(
            selection("[vdso]").unwrap(),
            Selection::Path("[vdso]".into())
        );
        assert_eq!(selection("libc").unwrap_err().status, USAGE);
        assert_eq!(selection("").unwrap_err().status, USAGE);
    }
}
