//! One command: what to run, what came of it, and how to repeat it by hand.

use crate::build::work_dir;
use nix::sys::signal::{SigHandler, Signal, killpg};
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fmt, thread};

/// A test run in the background of a shell, or under nohup, inherits signals that are
/// ignored; what guests do natively must not depend on that.
fn default_signals() -> std::io::Result<()> {
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: installs no handler.
        unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }?;
    }
    Ok(())
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Exit status.
    Exit(i32),
    /// Death by a signal.
    Signal(i32),
    /// It had to be killed: its time was up.
    TimedOut,
}

/// All that a caller can see of a finished command.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to descriptor 1.
    pub stdout: Vec<u8>,
    /// What it wrote to descriptor 2.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.ended)?;
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !bytes.is_empty() {
                writeln!(f, "--- {name}\n{}", excerpt(bytes))?;
            }
        }
        Ok(())
    }
}

fn excerpt(bytes: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned();
    if bytes.len() > 4000 {
        format!("{shown}... ({} bytes)", bytes.len())
    } else {
        shown
    }
}

/// A command with a fixed, small environment.
#[derive(Clone, Debug)]
pub struct Cmd {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
    timeout: Duration,
}

impl Cmd {
    /// A command without arguments, in an environment that is the same everywhere.
    pub fn new(program: impl AsRef<Path>) -> Cmd {
        let path = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let home = env::temp_dir().into_os_string();
        let env = [
            ("PATH", path),
            ("HOME", home),
            ("LC_ALL", "C".into()),
            ("TERM", "dumb".into()),
        ];
        Cmd {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: env
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
            cwd: None,
            stdin: Vec::new(),
            timeout: Duration::from_secs(60),
        }
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Cmd {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Cmd {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Runs in this folder.
    pub fn cwd(mut self, dir: &Path) -> Cmd {
        self.cwd = Some(dir.to_owned());
        self
    }

    /// Gives it this to read.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Cmd {
        self.stdin = bytes.into();
        self
    }

    /// Changes the time limit.
    pub fn timeout(mut self, limit: Duration) -> Cmd {
        self.timeout = limit;
        self
    }

    /// The same command behind a launcher.
    pub fn prefixed(&self, launcher: &Path, words: &[&OsStr]) -> Cmd {
        let mut cmd = self.clone();
        cmd.program = launcher.to_owned();
        cmd.args = words.iter().map(|word| (*word).to_owned()).collect();
        cmd.args.push(self.program.clone().into_os_string());
        cmd.args.extend(self.args.iter().cloned());
        cmd
    }

    /// The command as std takes it, without stdin, stdout and stderr set.
    pub fn to_std(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear();
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command.current_dir(self.cwd.clone().unwrap_or_else(folder));
        // SAFETY: setting dispositions is a plain system call, safe between fork and exec.
        unsafe { command.pre_exec(default_signals) };
        command
    }

    /// Runs it to its end. Output goes through files, so that a descendant that
    /// keeps a descriptor open does not hold up the test.
    pub fn run(&self) -> Outcome {
        let mut stdin = tempfile::tempfile().expect("stdin file");
        stdin
            .write_all(&self.stdin)
            .and_then(|()| stdin.rewind())
            .expect("stdin contents");
        let mut stdout = tempfile::tempfile().expect("stdout file");
        let mut stderr = tempfile::tempfile().expect("stderr file");
        let copy = |file: &File| Stdio::from(file.try_clone().expect("duplicate"));
        let mut command = self.to_std();
        command
            .stdin(stdin)
            .stdout(copy(&stdout))
            .stderr(copy(&stderr))
            .process_group(0);
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", self.shell()));
        let ended = wait(&mut child, self.timeout);
        Outcome {
            ended,
            stdout: contents(&mut stdout),
            stderr: contents(&mut stderr),
        }
    }

    /// Runs it and insists on exit status 0.
    pub fn run_ok(&self) -> Outcome {
        let outcome = self.run();
        assert_eq!(
            outcome.ended,
            Ended::Exit(0),
            "{}\n{outcome:?}",
            self.shell()
        );
        outcome
    }

    /// A line for a shell that repeats this command.
    pub fn shell(&self) -> String {
        let mut line = String::new();
        if let Some(cwd) = &self.cwd {
            line += &format!("cd {} && ", quote(cwd.as_os_str()));
        }
        line += "env -i";
        for (key, value) in &self.env {
            line += &format!(" {}={}", key.to_string_lossy(), quote(value));
        }
        for word in std::iter::once(self.program.as_os_str()).chain(self.args.iter().map(|a| &**a))
        {
            line += &format!(" {}", quote(word));
        }
        line
    }
}

/// Where commands run that have no folder of their own: what tools leave behind there is
/// not left among the sources.
fn folder() -> PathBuf {
    let folder = work_dir().join("cwd");
    std::fs::create_dir_all(&folder).expect("work folder");
    folder
}

fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn contents(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .expect("output file");
    bytes
}

/// Waits for a child that leads its own process group; kills the group at the limit.
pub fn wait(child: &mut Child, limit: Duration) -> Ended {
    let start = Instant::now();
    let mut pause = Duration::from_micros(300);
    loop {
        if let Some(status) = child.try_wait().expect("wait") {
            return ended(status);
        }
        if start.elapsed() > limit {
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
            let _ = child.wait();
            return Ended::TimedOut;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// A wait status as [`Ended`].
pub fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => unreachable!("neither exited nor killed: {status:?}"),
    }
}
