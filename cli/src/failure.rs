//! Exit statuses, and the one line that explains them.

use std::fmt::Display;

/// The answer is yes, or all went well.
pub const YES: u8 = 0;
/// The answer is no, or the system refuses.
pub const NO: u8 = 1;
/// Wrong use of a verb other than `run`.
pub const USAGE: u8 = 2;
/// `run`: ppin itself failed.
pub const FAILED: u8 = 125;
/// `run`: the program was found and cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// `run`: the program was not found.
pub const NOT_FOUND: u8 = 127;

/// Why a verb ends early.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit status.
    pub status: u8,
    /// One sentence, without the name of the command before it.
    pub message: String,
}

impl Failure {
    /// With `status`.
    pub fn new(status: u8, message: impl Display) -> Self {
        Self {
            status,
            message: message.to_string(),
        }
    }

    /// With the status that says "ppin failed".
    pub fn of_ppin(message: impl Display) -> Self {
        Self::new(FAILED, message)
    }
}

/// A verb ends because the system refuses something.
pub fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new(NO, why)
}

/// Says what is wrong, if anything, and returns the exit status.
pub fn conclude(result: Result<u8, Failure>) -> u8 {
    match result {
        Ok(status) => status,
        Err(failure) => {
            eprintln!("ppin: {}", failure.message);
            failure.status
        }
    }
}
