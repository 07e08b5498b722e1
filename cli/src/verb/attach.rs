//! `ppin attach`: brings a program that runs already under ppin.

use crate::boot::{self, Boot, Carrier};
use crate::database::{self, Choice as Database};
use crate::failure::{Failure, USAGE, YES, failed};
use crate::options::{Check, EngineOption, Settings};
use crate::outputs::Outputs;
use crate::runtime;
use crate::tools::Choice;
use clap::Args;
use nix::unistd::geteuid;
use ppin_abi::boot::CacheMode;
use ppin_attach::Request;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// `ppin attach`.
#[derive(Debug, Args)]
#[command(
    after_help = "All its threads are stopped for some milliseconds; what they were waiting for, they wait for again. Its tool \
                  sees what it executes from then on, and reports when the program ends, or `ppin detach` lets it go.\n\n\
                  Exit status: 0 the program runs under ppin, 1 it cannot be attached to, 2 wrong use, 125 ppin itself fails."
)]
pub struct Attach {
    /// How it goes on
    #[command(flatten)]
    settings: Settings,
    /// Process id of the program
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: i32,
}

/// Attaches; returns when the program runs under ppin.
pub fn attach(args: &Attach) -> Result<u8, Failure> {
    let settings = &args.settings;
    let lockstep = settings.engine_option.contains(&EngineOption::Lockstep);
    if lockstep || settings.check == Some(Check::Lockstep) {
        let words =
            "--check compares a program from its beginning; --check=sample one that runs already";
        return Err(Failure::new(USAGE, words));
    }
    let tools = Choice::new(&settings.tool, &settings.knob).map_err(Failure::of_ppin)?;
    let outputs = Outputs::new(settings, &tools)?;
    if let Some(option) = outputs.own_descriptor() {
        return Err(Failure::new(
            USAGE,
            format!("{option}: the program has other descriptors than this process; name a file"),
        ));
    }
    let database = private(database::choose(&settings.db, settings.cache)?, args.pid);
    let carrier = Carrier::find()?;
    let boot = Boot::new(
        (boot::params(settings, &database)?, settings),
        &outputs,
        &database,
        &carrier,
    );
    let plan = runtime::plan();
    let plan = plan.ok_or_else(|| Failure::of_ppin("this executable holds no runtime"))?;
    ppin_attach::check(args.pid).map_err(failed)?;
    outputs.open(args.pid as u32)?;
    let request = Request {
        pid: args.pid,
        boot: boot.params(),
        carrier: &carrier.name,
        runtime: carrier.span,
        plan,
    };
    ppin_attach::attach(&request).map_err(failed)?;
    Ok(YES)
}

/// The database, unless the process is another user's: what one user has kept is not for others.
fn private(database: Database, pid: i32) -> Database {
    let theirs = fs::metadata(format!("/proc/{pid}"));
    if theirs.is_ok_and(|theirs| theirs.uid() == geteuid().as_raw()) {
        return database;
    }
    Database {
        mode: CacheMode::Off,
        note: Some("no database: the program is another user's".into()),
        ..database
    }
}
