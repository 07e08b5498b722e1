//! Memos: which file has which contents (see `ppin_persist::memo`).

use crate::error::{Context, Error};
use crate::files::publish;
use crate::open::Database;
use crate::trust;
use ppin_persist::memo::{StatId, encode};
use ppin_persist::paths::MEMO;

impl Database {
    /// Notes that the file `id` has the contents with the SHA-256 `image`.
    ///
    /// # Errors
    /// The folder is not trusted, or the system refuses.
    pub fn remember(&self, id: &StatId, image: &[u8; 32]) -> Result<(), Error> {
        self.writable()?;
        let dir = self.path().join(MEMO);
        self.files.make_dir(&dir).context("create", &dir)?;
        trust::check_dir(&dir)?;
        let path = dir.join(id.file_name());
        publish(&*self.files, &path, &encode(id, image), None).context("write", &path)
    }
}
