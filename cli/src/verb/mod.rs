//! What each verb does.

pub mod db;
mod r#gen;
mod run;
mod tool;

use crate::args::{Cli, Verb};
use crate::failure::{YES, conclude};
use ppin_inject::Environ;

/// Does what was asked; returns the exit status.
pub fn dispatch(cli: &Cli, environ: Environ) -> u8 {
    conclude(match &cli.verb {
        Verb::Run(args) => run::run(args, environ).map(|()| YES),
        Verb::Db(args) => db::db(args),
        Verb::Tool(which) => tool::tool(which).map(|()| YES),
        Verb::Gen(what) => r#gen::generate(what).map(|()| YES),
    })
}
