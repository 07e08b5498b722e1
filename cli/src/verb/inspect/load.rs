//! Reading units of the database.

use super::unit::Unit;
use crate::failure::{Failure, failed};
use crate::mapped::Bytes;
use ppin_cachedb::Database;

/// One unit of the database; `None` if it is gone or damaged.
pub fn load(db: &Database, path: &ppin_cachedb::UnitPath) -> Result<Option<Unit>, Failure> {
    let Some(file) = db.file(path).map_err(failed)? else {
        return Ok(None);
    };
    let bytes = Bytes::of(&file).map_err(failed)?;
    Ok(Unit::new(path.relative(), bytes).ok())
}
