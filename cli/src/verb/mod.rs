//! The verbs, one file or folder each.

pub mod attach;
pub mod check;
pub mod db;
pub mod detach;
pub mod doctor;
mod r#gen;
pub mod inspect;
mod run;
mod tool;
mod under_tracer;
pub mod warm;

use crate::args::{Cli, Verb};
use crate::failure::{YES, conclude};
use crate::options::Check;
use ppin_inject::Environ;

/// Does what was asked; returns the exit status.
pub fn dispatch(cli: &Cli, environ: Environ) -> u8 {
    conclude(match &cli.verb {
        Verb::Run(args) if args.settings.check == Some(Check::Lockstep) => check::check(args),
        Verb::Step(args) => check::become_traced(args),
        Verb::Run(args) => run::run(args, environ).map(|()| YES),
        Verb::Warm(args) => warm::warm(args),
        Verb::Attach(args) => attach::attach(args),
        Verb::Detach(args) => detach::detach(args),
        Verb::Inspect(args) => inspect::inspect(args),
        Verb::Db(args) => db::db(args),
        Verb::Tool(which) => tool::tool(which).map(|()| YES),
        Verb::Doctor(args) => doctor::doctor(args),
        Verb::Gen(what) => r#gen::generate(what).map(|()| YES),
    })
}
