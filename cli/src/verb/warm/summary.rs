//! The summary on standard error: lines for people as they become known, or an object for each run
//! of the commands; what follows the last run belongs to its object.

use crate::options::Format;
use serde_json::Value;

/// What is said.
pub struct Summary {
    format: Format,
    /// An object that more may be added to.
    open: Value,
}

impl Summary {
    /// Nothing has been said yet.
    pub fn new(format: Format) -> Self {
        let open = Value::Null;
        Self { format, open }
    }

    /// What a run has brought.
    pub fn begin(&mut self, text: String, object: Value) {
        self.end();
        match self.format {
            Format::Human => eprintln!("{text}"),
            Format::Json => self.open = object,
        }
    }

    /// More about the last run.
    pub fn add(&mut self, text: String, key: &str, value: Value) {
        match self.format {
            Format::Human => eprintln!("{text}"),
            Format::Json => self.open[key] = value,
        }
    }

    fn end(&mut self) {
        if !self.open.is_null() {
            eprintln!("{}", self.open.take());
        }
    }
}

impl Drop for Summary {
    fn drop(&mut self) {
        self.end();
    }
}
