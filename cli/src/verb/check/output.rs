//! Output of a process, kept until both processes have ended.

use crate::failure::Failure;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::process::{Command, Stdio};

/// Where a process writes to.
pub struct Output {
    out: File,
    err: File,
}

impl Output {
    /// An empty one.
    pub fn new() -> Result<Self, Failure> {
        let file = || tempfile::tempfile().map_err(Failure::of_ppin);
        Ok(Self {
            out: file()?,
            err: file()?,
        })
    }

    /// Has the process write there.
    pub fn attach(&self, command: &mut Command) -> Result<(), Failure> {
        let copy = |file: &File| file.try_clone().map(Stdio::from).map_err(Failure::of_ppin);
        command
            .stdin(Stdio::null())
            .stdout(copy(&self.out)?)
            .stderr(copy(&self.err)?);
        Ok(())
    }

    /// The bytes written to output and error output.
    pub fn read(&mut self) -> Result<[Vec<u8>; 2], Failure> {
        let whole = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind()
                .and_then(|()| file.read_to_end(&mut bytes))
                .map_err(Failure::of_ppin)?;
            Ok(bytes)
        };
        Ok([whole(&mut self.out)?, whole(&mut self.err)?])
    }

    /// Passes all of it on.
    pub fn show(&mut self, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Failure> {
        let [said, complained] = self.read()?;
        let shown = out.write_all(&said).and_then(|()| out.flush());
        shown
            .and_then(|()| err.write_all(&complained))
            .map_err(Failure::of_ppin)
    }
}
