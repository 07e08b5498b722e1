//! The `ppin` command.
//!
//! ```text
//! entry       where the process begins; the plain case of `run` ends there (`vm/launcher`)
//! args        the command line: verbs with their options, and how it is read
//! options/    options that verbs share, below all of them
//! verb/       what each verb does, one file or folder per verb
//! preflight/  which program is meant, and whether it can be instrumented
//! database/   which database, whether it may be trusted, what is meant in it
//! outputs     the files for reports, statistics, log and tool, checked before the start
//! tools/      which tools are meant, their knobs, and loading them here
//! runtime     what this executable carries for programs
//! mapped      files that are looked into by mapping them
//! source      the bytes that persisted code was made from
//! text        tables, sizes, progress
//! failure     exit statuses and the one line that explains them
//! ```
//!
//! `ppin run` becomes the program, so nothing is done before that is not needed:
//! no threads, no allocation-happy parsing, and not even Rust's own start-up code,
//! which would open descriptors 0 to 2 and ignore SIGPIPE; the program inherits
//! both as our caller left them.
#![cfg_attr(not(test), no_main)]
#![cfg_attr(test, allow(dead_code))]
#![deny(unsafe_code)]

mod args;
mod boot;
mod database;
mod entry;
mod failure;
mod mapped;
mod options;
mod outputs;
mod preflight;
mod runtime;
mod size;
mod source;
mod text;
mod tools;
mod verb;
