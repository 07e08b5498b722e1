//! `--optimize`: which mechanisms of the compiler are on.

use ppin_abi::optimize::{MECHANISMS, Optimize};
use std::fmt::Write;

/// Reads the option's value.
///
/// # Errors
/// What is wrong with it, and which mechanisms there are.
pub fn list(text: &str) -> Result<Optimize, String> {
    Optimize::parse(text).map_err(|unknown| unknown.to_string())
}

/// The option's help.
#[must_use]
pub fn help() -> String {
    let mut text = String::from(
        "Switch mechanisms of the compiler off or on: -NAME and +NAME, separated by commas; \
         first may stand all or none. They are",
    );
    for (place, (name, _, does)) in MECHANISMS.iter().enumerate() {
        let before = if place == 0 { "" } else { ";" };
        let _ = write!(text, "{before} {name} ({does})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_explains_every_mechanism() {
        let help = help();
        for (name, _, does) in MECHANISMS {
            assert!(help.contains(&format!("{name} ({does})")));
        }
    }

    #[test]
    fn a_wrong_list_is_answered_with_the_mechanisms() {
        assert_eq!(list("none"), Ok(Optimize::NONE));
        let why = list("-cuonters").unwrap_err();
        assert!(why.contains("-cuonters") && why.contains(MECHANISMS[0].0));
    }
}
