//! The result of one check.

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Subject of the check.
    pub what: &'static str,
    /// Whether ppin can do all that it wants.
    pub good: bool,
    /// The result, and what ppin does about it.
    pub text: String,
}

impl Finding {
    /// The check passed.
    pub fn good(what: &'static str, text: impl Into<String>) -> Self {
        Self {
            what,
            good: true,
            text: text.into(),
        }
    }

    /// The check failed.
    pub fn bad(what: &'static str, text: impl Into<String>) -> Self {
        Self {
            what,
            good: false,
            text: text.into(),
        }
    }
}
