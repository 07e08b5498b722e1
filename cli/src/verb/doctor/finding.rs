//! What was found out about one thing.

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// Whether ppin can do all that it wants.
    pub good: bool,
    /// What was found, and what ppin does about it.
    pub text: String,
}

impl Finding {
    /// ppin can do what it wants.
    pub fn good(what: &'static str, text: impl Into<String>) -> Self {
        Self {
            what,
            good: true,
            text: text.into(),
        }
    }

    /// It cannot.
    pub fn bad(what: &'static str, text: impl Into<String>) -> Self {
        Self {
            what,
            good: false,
            text: text.into(),
        }
    }
}
