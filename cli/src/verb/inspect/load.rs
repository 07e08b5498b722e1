//! Reading units of the database.

use super::unit::Unit;
use crate::failure::{Failure, failed};
use ppin_cachedb::Database;

/// One unit of the database; `None` if it is gone or damaged.
pub fn load(db: &Database, path: &ppin_cachedb::UnitPath) -> Result<Option<Unit>, Failure> {
    let bytes = db.read(path).map_err(failed)?;
    Ok(bytes.and_then(|bytes| Unit::new(path.relative(), bytes).ok()))
}
