//! The files that a run writes for its user: the report, the statistics, the log, and those
//! of the tool.
//!
//! They are looked at before the program starts, while it can still be refused: what cannot
//! be written then is an error. No descriptor is passed on, since the program must not see
//! any; the runtime opens the files again when something is due. So names are made
//! independent of the directory that the program may change to.

use crate::failure::Failure;
use crate::options::Settings;
use crate::preflight::reason;
use crate::tools::{Choice, Found};
use nix::errno::Errno;
use nix::libc::{O_NOCTTY, O_NONBLOCK};
use nix::unistd::{AccessFlags, access};
use ppin_plugin::Chosen;
use std::ffi::OsString;
use std::fs::{Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The files of a run.
#[derive(Debug, Default)]
pub struct Outputs {
    files: Vec<Output>,
    /// `-o`, as the runtime wants it; empty: descriptor 2.
    pub report: Vec<u8>,
    /// `--stats`, likewise.
    pub stats: Vec<u8>,
    /// `--log`; empty: none.
    pub log: Vec<u8>,
    /// The tools, with their knobs; of those that name files, the names are absolute.
    pub tools: Vec<Chosen>,
}

/// A file to be written.
#[derive(Debug)]
struct Output {
    what: String,
    option: String,
    /// `%p` stands for the process id.
    path: PathBuf,
    /// Whether what an earlier run left goes.
    empties: bool,
}

impl Outputs {
    /// The files that `args` ask for, and those of the tools. Nothing is opened yet.
    pub fn new(args: &Settings, tools: &Choice) -> Result<Self, Failure> {
        let mut outputs = Self::default();
        let stats = args.stats.as_ref().and_then(Option::as_deref);
        let report = args.output.as_deref();
        outputs.report = outputs.add("the report", "-o", report, true)?;
        outputs.stats = outputs.add("the statistics", "--stats", stats, false)?;
        outputs.log = outputs.add("the log", "--log", args.log.as_deref(), false)?;
        for tool in tools.tools() {
            let chosen = outputs.with_files(tool)?;
            outputs.tools.push(chosen);
        }
        Ok(outputs)
    }

    /// Makes, empties and checks the files of the program, process `pid`.
    pub fn open(&self, pid: u32) -> Result<(), Failure> {
        self.files.iter().try_for_each(|file| file.open(pid))
    }

    /// The option that names an open descriptor of this process, if one does.
    pub fn own_descriptor(&self) -> Option<&'static str> {
        let all = [
            ("-o", &self.report),
            ("--stats", &self.stats),
            ("--log", &self.log),
        ];
        let own = all.iter().find(|(_, file)| file.starts_with(b"fd:"));
        own.map(|(option, _)| *option)
    }

    fn add(
        &mut self,
        what: &str,
        option: &str,
        path: Option<&Path>,
        empties: bool,
    ) -> Result<Vec<u8>, Failure> {
        let Some(path) = path else {
            return Ok(Vec::new());
        };
        if let Some(inherited) = inherited(path, what, option)? {
            return Ok(inherited);
        }
        let path = absolute(path)?;
        self.files.push(Output {
            what: what.to_owned(),
            option: option.to_owned(),
            path: path.clone(),
            empties,
        });
        Ok(path.into_os_string().into_vec())
    }

    /// The tool, with absolute names of the files that it writes.
    fn with_files(&mut self, tool: &Found) -> Result<Chosen, Failure> {
        let mut chosen = tool.chosen.clone();
        for knob in tool.card.knobs.iter().filter(|knob| knob.writes_file) {
            let name = &knob.name;
            let is_it = |given: &str| given.split_once('=').is_some_and(|(n, _)| n == name);
            let given = chosen.knobs.iter().rfind(|given| is_it(given));
            let value = given.and_then(|given| given.split_once('='));
            let value = value.map_or(knob.default.as_str(), |(_, value)| value);
            let path = self.add_tools(&tool.card.name, name, Path::new(value))?;
            chosen.knobs.retain(|given| !is_it(given));
            chosen.knobs.push(format!("{name}={path}"));
        }
        Ok(chosen)
    }

    fn add_tools(&mut self, tool: &str, knob: &str, path: &Path) -> Result<String, Failure> {
        let path = absolute(path)?;
        let text = path.to_str().filter(|text| !text.contains('\n'));
        let text = text.map(str::to_owned).ok_or_else(|| {
            let path = path.display();
            Failure::of_ppin(format!("{path}: the path of knob {knob} is not plain text"))
        });
        self.files.push(Output {
            what: format!("the output of {tool}"),
            option: format!("--knob {knob}"),
            path: path.clone(),
            empties: true,
        });
        text
    }
}

impl Output {
    fn open(&self, pid: u32) -> Result<(), Failure> {
        let path = with_pid(&self.path, pid);
        self.prepare(&path).map_err(|error| {
            let (what, path, why) = (&self.what, path.display(), reason(&error));
            refused(what, &path.to_string(), &why, &self.option)
        })
    }

    fn prepare(&self, path: &Path) -> io::Result<()> {
        if path.metadata().is_ok_and(|file| file.file_type().is_fifo()) {
            // The reader of a pipe would see its end if it were opened and closed here.
            return Ok(access(path, AccessFlags::W_OK)?);
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let file = options.custom_flags(O_NOCTTY | O_NONBLOCK).open(path)?;
        let found = file.metadata()?;
        if self.empties && found.is_file() && !is_inherited(&found) {
            file.set_len(0)?;
        }
        Ok(())
    }
}

/// A sentence about what cannot be written.
fn refused(what: &str, path: &str, why: &str, option: &str) -> Failure {
    Failure::of_ppin(format!(
        "cannot write {what} to {path}: {why}; name a file with {option} that can be written"
    ))
}

/// Whether `file` is one that the program's own output goes to.
fn is_inherited(file: &Metadata) -> bool {
    let same = |fd: i32| {
        let other = Path::new("/proc/self/fd").join(fd.to_string()).metadata();
        other.is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
    };
    same(1) || same(2)
}

/// A name for one of our own descriptors: what the runtime is to write to, empty for
/// descriptor 2. It goes on where the program's own output ends, as a path to the same file
/// would not.
fn inherited(path: &Path, what: &str, option: &str) -> Result<Option<Vec<u8>>, Failure> {
    let name = path.to_str().unwrap_or_default();
    let number = match name {
        "/dev/stdout" => "1",
        "/dev/stderr" => "2",
        _ => {
            let folders = ["/dev/fd/", "/proc/self/fd/"];
            let number = folders.iter().find_map(|folder| name.strip_prefix(folder));
            match number {
                Some(number) if number.parse::<u16>().is_ok() => number,
                _ => return Ok(None),
            }
        }
    };
    let open = Path::new("/proc/self/fd").join(number);
    let file = open.metadata();
    let file = file.and_then(|file| writes(number).map(|()| file));
    let file = file.map_err(|error| refused(what, name, &reason(&error), option))?;
    if number == "2" {
        return Ok(Some(Vec::new()));
    }
    let (dev, ino) = (file.dev(), file.ino());
    Ok(Some(format!("fd:{number}:{dev}:{ino}").into_bytes()))
}

/// Whether descriptor `number` is open for writing.
fn writes(number: &str) -> io::Result<()> {
    const O_ACCMODE: u32 = 3;
    let info = std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(number))?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    match flags.unwrap_or_default() & O_ACCMODE {
        0 => Err(Errno::EBADF.into()),
        _ => Ok(()),
    }
}

/// The program may change its directory; the files stay where they were meant.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(path);
    absolute.map_err(|error| Failure::of_ppin(format!("{}: {}", path.display(), reason(&error))))
}

/// `path` for process `pid`.
fn with_pid(path: &Path, pid: u32) -> PathBuf {
    let pid = pid.to_string();
    let mut whole = Vec::new();
    let mut rest = path.as_os_str().as_bytes();
    while let Some(at) = rest.windows(2).position(|pair| pair == b"%p") {
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(pid.as_bytes());
        rest = &rest[at + 2..];
    }
    whole.extend_from_slice(rest);
    OsString::from_vec(whole).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(path: &Path, empties: bool) -> Output {
        Output {
            what: "the report".to_owned(),
            option: "-o".to_owned(),
            path: path.to_owned(),
            empties,
        }
    }

    #[test]
    fn what_an_earlier_run_left_goes_if_it_is_to_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (empties, left) in [(false, "old"), (true, "")] {
            std::fs::write(&path, "old").unwrap();
            output(&path, empties).open(7).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_in_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        for (path, why) in [
            (folder.path().to_owned(), "Is a directory"),
            (folder.path().join("none/x"), "No such file or directory"),
        ] {
            let failure = output(&path, true).open(7).unwrap_err();
            assert_eq!(failure.status, 125);
            let said = failure.message;
            assert!(said.contains(why) && said.contains("with -o"), "{said}");
        }
    }

    #[test]
    fn each_placeholder_becomes_the_process_id() {
        let path = with_pid(Path::new("/a%p/%p%q%"), 77);
        assert_eq!(path, PathBuf::from("/a77/77%q%"));
    }

    #[test]
    fn own_descriptors_are_known_by_their_names() {
        let of = |path: &str| inherited(Path::new(path), "it", "-o").unwrap();
        assert_eq!(of("/dev/stderr"), Some(Vec::new()));
        let stdout = of("/dev/stdout").unwrap();
        assert!(stdout.starts_with(b"fd:1:"));
        assert_eq!(of("/proc/self/fd/1"), Some(stdout));
        assert_eq!(of("/dev/fdx"), None);
        assert_eq!(of("/dev/fd/1x"), None);
        assert!(inherited(Path::new("/dev/fd/999"), "it", "-o").is_err());
    }
}
