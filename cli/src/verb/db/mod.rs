//! `ppin db`: the database, without running anything.
//!
//! Status 0: yes, or done. 1: no (nothing matches, something is damaged), or the
//! system refuses. 2: wrong use.

mod args;
mod exchange;
mod list;
mod recompile;
mod stat;
mod tidy;
mod verify;

pub use args::Db;

use crate::database::{create, path_of, reader, writer};
use crate::failure::{Failure, YES};
use args::Action;

/// Does what was asked; the exit status.
pub fn db(args: &Db) -> Result<u8, Failure> {
    let path = path_of(args.db.as_deref())?;
    match &args.action {
        Action::Path => {
            println!("{}", path.display());
            Ok(YES)
        }
        Action::List { units, format } => list::list(&reader(&path)?, *units, *format),
        Action::Stat { format } => stat::stat(&reader(&path)?, *format),
        Action::Verify { recompile, format } => {
            verify::verify(&reader(&path)?, *recompile, *format)
        }
        Action::Gc(options) => tidy::collect(&writer(&path)?, options),
        Action::Rm { which, format } => tidy::remove(&writer(&path)?, which, *format),
        Action::Export { file, which } => exchange::export(&reader(&path)?, file, which),
        Action::Import { file } => exchange::import(&create(&path)?, file),
    }
}
