//! `ppin run`: become the program, with the runtime in it.

use super::under_tracer;
use crate::boot::{self, Boot, Carrier};
use crate::database;
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::options::Run;
use crate::outputs::Outputs;
use crate::preflight::{self, Kind};
use crate::tools::Choice;
use nix::errno::Errno;
use nix::libc::{ENOENT, ENOEXEC};
use ppin_inject::block::BootParams;
use ppin_inject::{Become, Environ, Step};
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Executes files that the kernel does not know.
const SHELL: &str = "/bin/sh";

/// Returns only if it fails.
pub fn run(args: &Run, environ: Environ) -> Result<(), Failure> {
    let settings = &args.settings;
    let tools = Choice::new(&settings.tool, &settings.knob).map_err(Failure::of_ppin)?;
    let outputs = Outputs::new(settings, &tools)?;
    let (program, rest) = args.command.split_first().expect("clap requires it");
    let found = preflight::find(program)?;
    preflight::check_room()?;
    if preflight::pid_namespace_pending() {
        return Err(Failure::of_ppin(
            "children of this process would live in another PID namespace, its helper too",
        ));
    }
    let database = database::choose(&settings.db, settings.cache)?;
    let carrier = Carrier::find()?;
    let params = BootParams {
        program: file_of(&found),
        ..boot::params(settings, &database)?
    };
    let boot = Boot::new((params, settings), &outputs, &database, &carrier);
    if let Some(tracer) = under_tracer::tracer() {
        under_tracer::go(&tracer)?;
    }
    outputs.open(std::process::id())?;
    let launch = |path: &Path, argv: &[OsString]| execute(&boot, &carrier, environ, path, argv);
    let failure = launch(&found.path, &args.command);
    if failure.errno.0 == ENOEXEC && found.kind == Kind::Unknown {
        let script = [SHELL.into(), found.path.clone().into_os_string()];
        let argv = [&script, rest].concat();
        let failure = launch(Path::new(SHELL), &argv);
        return Err(explain(failure, Path::new(SHELL)));
    }
    Err(explain(failure, &found.path))
}

/// Device and inode number of the program's file. Not of a script's, which the kernel does not map.
fn file_of(found: &preflight::Found) -> [u64; 2] {
    let file = (found.kind == Kind::Program).then(|| fs::metadata(&found.path).ok());
    file.flatten()
        .map_or([0; 2], |file| [file.dev(), file.ino()])
}

fn execute(
    boot: &Boot,
    carrier: &Carrier,
    environ: Environ,
    path: &Path,
    argv: &[OsString],
) -> ppin_inject::Failure {
    let become_program = Become {
        boot: boot.params(),
        carrier: &c_string(carrier.path.as_os_str()),
        runtime: carrier.span,
        path: &c_string(path.as_os_str()),
        argv: &argv.iter().map(|word| c_string(word)).collect::<Vec<_>>(),
        environ,
    };
    become_program.launch()
}

/// Words of the command line hold no zero byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}

/// A failed launch in words.
fn explain(failure: ppin_inject::Failure, path: &Path) -> Failure {
    let (number, name) = (failure.errno.0, path.display());
    let why = Errno::from_raw(number).desc();
    match failure.step {
        Step::Exec if number == ENOENT => Failure::new(
            NOT_FOUND,
            format!("{name}: its interpreter or loader is missing"),
        ),
        Step::Exec => Failure::new(NOT_EXECUTABLE, format!("{name}: {why}")),
        Step::Seize => Failure::of_ppin(refused_trace(why)),
        Step::Carrier => Failure::of_ppin(format!(
            "cannot use the runtime in its own executable: {why}"
        )),
        Step::Helper => Failure::of_ppin(format!("cannot create its helper process: {why}")),
        Step::HelperDied => Failure::of_ppin("its helper process was killed"),
    }
}

/// Why the kernel does not let us trace ourselves for a moment.
fn refused_trace(why: &str) -> String {
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match yama.trim() {
        level @ ("2" | "3") => {
            format!("the kernel forbids ptrace here (kernel.yama.ptrace_scope is {level})")
        }
        _ => format!(
            "ptrace is refused here ({why}); is a seccomp filter or a security module in force?"
        ),
    }
}
