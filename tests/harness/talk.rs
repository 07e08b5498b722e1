//! A program that is spoken to, a line at a time, while something is done to its process.

use crate::command::{Cmd, Ended, ended};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

/// The running program.
pub struct Talk {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Talk {
    /// Starts it.
    ///
    /// # Panics
    /// It cannot be started.
    #[must_use]
    pub fn start(command: &Cmd) -> Self {
        let mut command = command.to_std();
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output }
    }

    /// Its answer to `word`.
    ///
    /// # Panics
    /// It does not listen.
    pub fn says(&mut self, word: &str) -> String {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{word}").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        line
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Whether memory of ppin can be executed.
    ///
    /// # Panics
    /// It has ended.
    #[must_use]
    pub fn is_under_ppin(&self) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id())).expect("it lives");
        let mut lines = maps.lines();
        lines.any(|line| line.contains("/ppin") && line.contains("r-xp"))
    }

    /// Whether there is none soon: the thread that gives it back does so last of all.
    #[must_use]
    pub fn is_rid_of_ppin(&self) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            !self.is_under_ppin()
        })
    }

    /// Ends its input: how it ends, and what it still says.
    ///
    /// # Panics
    /// It says what is no text.
    pub fn end(mut self) -> (Ended, String) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        (ended(self.child.wait().expect("a child")), rest)
    }
}
