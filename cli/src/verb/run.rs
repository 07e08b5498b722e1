//! `ppin run`: become the program, with the runtime in it.

use super::under_tracer;
use crate::database::{self, Choice as Database};
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::options::{Check, EngineOption, Format, Run};
use crate::outputs::Outputs;
use crate::preflight::{self, Kind};
use crate::runtime;
use crate::size;
use crate::tools::Choice;
use nix::errno::Errno;
use nix::libc::{ENOENT, ENOEXEC};
use ppin_abi::boot::{RuntimeSpan, flag};
use ppin_inject::block::BootParams;
use ppin_inject::{Become, Environ, Step};
use ppin_plugin::chosen;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// By this name the kernel lets us open our own executable, wherever it lies.
const OWN: &str = "/proc/self/exe";
/// Executes files that the kernel does not know.
const SHELL: &str = "/bin/sh";

/// Returns only if it fails.
pub fn run(args: &Run, environ: Environ) -> Result<(), Failure> {
    let tools = Choice::new(&args.tool, &args.knob).map_err(Failure::of_ppin)?;
    let db_cap = size::cap(args.max_size).map_err(Failure::of_ppin)?;
    let outputs = Outputs::new(args, &tools)?;
    let (program, rest) = args.command.split_first().expect("clap requires it");
    let found = preflight::find(program)?;
    preflight::check_room()?;
    if preflight::pid_namespace_pending() {
        return Err(Failure::of_ppin(
            "children of this process would live in another PID namespace, its helper too",
        ));
    }
    let database = database::choose(&args.db, args.cache)?;
    let carrier = Carrier::find()?;
    let params = BootParams {
        db_cap,
        program: file_of(&found),
        ..params(args, &database)
    };
    let boot = Boot::new(params, &outputs, &database, &carrier);
    if let Some(tracer) = under_tracer::tracer() {
        under_tracer::go(&tracer)?;
    }
    outputs.open()?;
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

/// This executable, as the file that holds the runtime.
struct Carrier {
    path: PathBuf,
    name: PathBuf,
    span: RuntimeSpan,
}

impl Carrier {
    fn find() -> Result<Self, Failure> {
        let span = runtime::span();
        let span = span.ok_or_else(|| Failure::of_ppin("this executable holds no runtime"))?;
        match fs::read_link(OWN) {
            Ok(name) => Ok(Self {
                path: OWN.into(),
                name,
                span,
            }),
            Err(error) => {
                let why = preflight::reason(&error);
                Err(Failure::of_ppin(format!(
                    "cannot find its own executable ({OWN}: {why})"
                )))
            }
        }
    }
}

/// The texts of the boot block.
struct Boot {
    params: BootParams<'static>,
    db: Vec<u8>,
    beneath: Vec<u8>,
    tool: Vec<u8>,
    knobs: Vec<u8>,
    output: Vec<u8>,
    stats: Vec<u8>,
    ppin: Vec<u8>,
    note: Vec<u8>,
    log: Vec<u8>,
}

/// A word that is not text.
fn params(args: &Run, database: &Database) -> BootParams<'static> {
    let limit = |option: &EngineOption| match option {
        EngineOption::CacheLimit(kib) => Some(*kib),
        _ => None,
    };
    BootParams {
        cache_mode: database.mode,
        flags: flags(args),
        cache_limit_kib: args.engine_option.iter().find_map(limit).unwrap_or(0),
        check_every: check_every(args),
        optimize: args.optimize,
        engine_id: runtime::ENGINE_ID,
        ..BootParams::EMPTY
    }
}

impl Boot {
    fn new(
        params: BootParams<'static>,
        outputs: &Outputs,
        database: &Database,
        carrier: &Carrier,
    ) -> Self {
        let (tool, knobs) = chosen::written(&outputs.tools);
        let beneath: Vec<_> = database
            .beneath
            .iter()
            .map(|path| path.as_os_str().as_bytes())
            .collect();
        Self {
            params,
            db: bytes(&database.dir),
            beneath: beneath.join(&b':'),
            tool: tool.into_bytes(),
            knobs: knobs.into_bytes(),
            output: outputs.report.clone(),
            stats: outputs.stats.clone(),
            log: outputs.log.clone(),
            ppin: bytes(&carrier.name),
            note: database.note.clone().unwrap_or_default().into_bytes(),
        }
    }

    fn params(&self) -> BootParams<'_> {
        BootParams {
            db: &self.db,
            tool: &self.tool,
            knobs: &self.knobs,
            output: &self.output,
            stats: &self.stats,
            ppin: &self.ppin,
            db_stack: &self.beneath,
            note: &self.note,
            log: &self.log,
            ..self.params
        }
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.to_owned().into_os_string().into_vec()
}

fn flags(args: &Run) -> u32 {
    let given = |option| args.engine_option.contains(&option);
    let switches = [
        (!args.no_follow, flag::FOLLOW),
        (args.stats.is_some(), flag::STATS),
        (args.format == Format::Json, flag::JSON),
        (given(EngineOption::Shuffle), flag::SHUFFLE),
        (given(EngineOption::ForbidPreferred), flag::FORBID_PREFERRED),
        (given(EngineOption::Lockstep), flag::LOCKSTEP),
        (args.check.is_some(), flag::SAMPLE),
        (given(EngineOption::Explore), flag::EXPLORE),
    ];
    switches
        .iter()
        .filter(|(on, _)| *on)
        .fold(0, |flags, (_, bit)| flags | bit)
}

/// 0: as time allows, or not at all.
fn check_every(args: &Run) -> u64 {
    match args.check {
        Some(Check::Sample(Some(every))) => u64::from(every.get()),
        _ => 0,
    }
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
