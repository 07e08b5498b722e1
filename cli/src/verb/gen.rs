//! `ppin gen`: texts made from the definitions of the options.

use crate::args::Cli;
use crate::failure::{Failure, USAGE};
use crate::options::Gen;
use clap::{Command, CommandFactory};
use std::io;

/// Prints the text.
pub fn generate(what: &Gen) -> Result<(), Failure> {
    let mut command = Cli::command();
    match what {
        Gen::Completions { shell } => {
            clap_complete::generate(*shell, &mut command, "ppin", &mut io::stdout());
            Ok(())
        }
        Gen::Man { verb } => manual(command, verb.as_deref()),
    }
}

fn manual(mut command: Command, verb: Option<&str>) -> Result<(), Failure> {
    command.build();
    let page = match verb {
        None => command,
        Some(verb) => command
            .find_subcommand(verb)
            .cloned()
            .ok_or_else(|| Failure::new(USAGE, format!("there is no verb {verb}")))?,
    };
    clap_mangen::Man::new(page)
        .render(&mut io::stdout())
        .map_err(|error| Failure::new(1, format!("cannot print the manual page: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(command: &Command) -> Vec<String> {
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        shown
            .filter_map(|arg| arg.get_long().map(str::to_owned))
            .collect()
    }

    fn page(command: &Command) -> String {
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone())
            .render(&mut page)
            .unwrap();
        String::from_utf8(page).unwrap().replace('\\', "")
    }

    #[test]
    fn every_option_is_in_the_manual_and_in_the_completions() {
        let mut command = Cli::command();
        command.build();
        let mut completions = Vec::new();
        clap_complete::generate(
            clap_complete::Shell::Bash,
            &mut command,
            "ppin",
            &mut completions,
        );
        let completions = String::from_utf8(completions).unwrap();
        for verb in command
            .get_subcommands()
            .filter(|verb| verb.get_name() != "help")
        {
            for option in options(verb) {
                let option = format!("--{option}");
                assert!(page(verb).contains(&option), "{} {option}", verb.get_name());
                assert!(
                    completions.contains(&option),
                    "{} {option}",
                    verb.get_name()
                );
            }
        }
    }

    #[test]
    fn hidden_options_stay_hidden() {
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        assert!(!page(run).contains("engine-option"));
    }

    #[test]
    fn a_page_of_no_verb_is_wrong_use() {
        assert_eq!(
            manual(Cli::command(), Some("fly")).unwrap_err().status,
            USAGE
        );
    }
}
