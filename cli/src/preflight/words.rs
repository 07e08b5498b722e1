//! Why a program cannot be executed, in words.

use crate::failure::{Failure, NOT_EXECUTABLE};
use std::path::Path;

/// Status 126, in words.
pub fn not_executable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(NOT_EXECUTABLE, format!("{}: {why}", path.display()))
}

/// The system's words for an error, without its number.
pub fn reason(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    }
}
