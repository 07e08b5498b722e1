//! Before the exec: which file is meant, and whether it can be instrumented.
//!
//! Some programs must be refused while words can still be found for it. A setuid
//! program loses its privileges when it is traced; an execute-only file is traced
//! and then cannot be read; a 32-bit program would be stopped only after the exec.

mod kind;
mod path;
mod rights;
mod room;
mod words;

use crate::failure::{Failure, NOT_FOUND};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub use kind::{Kind, kind};
pub use rights::pid_namespace_pending;
pub use room::check as check_room;
pub use words::{not_executable, reason};

/// Interpreters that the kernel follows in a row.
const CHAIN: usize = 5;

/// A program that was found, with the file the kernel will be asked to execute.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// That file.
    pub path: PathBuf,
    /// Its kind, by its first bytes.
    pub kind: Kind,
}

/// Finds `program` as `execvp` does and checks it, or the last of its interpreters.
pub fn find(program: &OsStr) -> Result<Found, Failure> {
    let path = path::find(program)?;
    let kind = look(&path)?;
    check_chain(&path, &kind)?;
    Ok(Found { path, kind })
}

/// Follows `#!` lines to the binary at their end, and checks that.
fn check_chain(script: &Path, first: &Kind) -> Result<(), Failure> {
    let (mut path, mut kind) = (script.to_owned(), first.clone());
    for _ in 0..CHAIN {
        match kind {
            Kind::Script(interpreter) => {
                path::check(&interpreter).map_err(|failure| {
                    let script = script.display();
                    let message = format!("{script}: its interpreter: {}", failure.message);
                    Failure { message, ..failure }
                })?;
                kind = look(&interpreter)?;
                path = interpreter;
            }
            Kind::Program => return rights::check(&path),
            Kind::Unknown => return Ok(()),
            Kind::Refused(why) => return Err(not_executable(&path, why)),
        }
    }
    Err(not_executable(script, "too many interpreters in a row"))
}

fn look(path: &Path) -> Result<Kind, Failure> {
    kind(path).map_err(|error| match error.raw_os_error() {
        Some(nix::libc::EACCES) => not_executable(
            path,
            "it may be executed but not read, and ppin must read it",
        ),
        Some(nix::libc::ENOENT) => {
            Failure::new(NOT_FOUND, format!("{}: {}", path.display(), reason(&error)))
        }
        _ => not_executable(path, reason(&error)),
    })
}
