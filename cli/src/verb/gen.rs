//! `ppin gen`: texts made from the definitions of the options.

use crate::args::{Cli, Gen};
use crate::failure::{Failure, USAGE};
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
