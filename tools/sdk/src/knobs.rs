//! The knobs that were given, checked against those that a tool declares.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_api::{About, Knob};

/// What the user said, or else the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Knobs<'a> {
    declared: &'static [Knob],
    given: &'a [(&'a str, &'a str)],
}

impl<'a> Knobs<'a> {
    /// The knobs `given` to the tool that `about` describes. Of one given twice the last
    /// counts.
    ///
    /// # Errors
    /// A sentence for the user about the first name that is not declared.
    pub fn new(about: &'static About, given: &'a [(&'a str, &'a str)]) -> Result<Self, String> {
        let (tool, declared) = (about.name, about.knobs);
        let unknown = |name: &str| !declared.iter().any(|knob| knob.name == name);
        match given.iter().find(|(name, _)| unknown(name)) {
            None => Ok(Self { declared, given }),
            Some((name, _)) if declared.is_empty() => {
                Err(format!("{tool} has no knob {name}: it has none"))
            }
            Some((name, _)) => {
                let names: Vec<&str> = declared.iter().map(|knob| knob.name).collect();
                let names = names.join(", ");
                Err(format!("{tool} has no knob {name}, only {names}"))
            }
        }
    }

    /// The value of `name`, as text.
    ///
    /// # Panics
    /// If the tool does not declare it, which any test of its configuration finds.
    #[must_use]
    pub fn text(&self, name: &str) -> &'a str {
        let given = self.given.iter().rfind(|(given, _)| *given == name);
        if let Some((_, value)) = given {
            return value;
        }
        let knob = self.declared.iter().find(|knob| knob.name == name);
        knob.expect("a tool asks for knobs that it declares")
            .default
    }

    /// The value of `name`, as a number: decimal, or hexadecimal behind `0x`.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name);
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        parsed.map_err(|_| format!("knob {name} takes a number, not {text:?}"))
    }

    /// The value of `name`, as a switch.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn switch(&self, name: &str) -> Result<bool, String> {
        match self.text(name) {
            "on" | "yes" | "true" | "1" => Ok(true),
            "off" | "no" | "false" | "0" => Ok(false),
            text => Err(format!("knob {name} is on or off, not {text:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: About = About {
        name: "tool",
        summary: "",
        knobs: &[knob("depth", "4"), knob("deep", "off")],
    };

    const fn knob(name: &'static str, default: &'static str) -> Knob {
        Knob {
            name,
            default,
            help: "",
            changes_code: false,
            writes_file: false,
        }
    }

    fn knobs<'a>(given: &'a [(&'a str, &'a str)]) -> Knobs<'a> {
        Knobs::new(&TOOL, given).unwrap()
    }

    #[test]
    fn given_values_come_before_defaults() {
        let given = [("depth", "7"), ("deep", "yes"), ("depth", "0x10")];
        assert_eq!(knobs(&given).number("depth"), Ok(16));
        assert_eq!(knobs(&given).switch("deep"), Ok(true));
        assert_eq!(knobs(&[]).number("depth"), Ok(4));
        assert_eq!(knobs(&[]).switch("deep"), Ok(false));
    }

    #[test]
    fn what_is_wrong_is_said() {
        const NONE: About = About { knobs: &[], ..TOOL };
        let unknown = Knobs::new(&TOOL, &[("dept", "1")]).unwrap_err();
        assert_eq!(unknown, "tool has no knob dept, only depth, deep");
        let none = Knobs::new(&NONE, &[("dept", "1")]).unwrap_err();
        assert_eq!(none, "tool has no knob dept: it has none");
        let number = knobs(&[("depth", "-1")]).number("depth").unwrap_err();
        assert_eq!(number, "knob depth takes a number, not \"-1\"");
        let switch = knobs(&[("deep", "")]).switch("deep").unwrap_err();
        assert_eq!(switch, "knob deep is on or off, not \"\"");
    }
}
