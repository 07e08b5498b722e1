//! What `ppin run` and `ppin attach` tell the runtime.

use crate::database::Choice as Database;
use crate::failure::Failure;
use crate::options::{Check, EngineOption, Format, Settings};
use crate::outputs::Outputs;
use crate::{preflight, runtime, size};
use ppin_abi::boot::{RuntimeSpan, flag};
use ppin_inject::block::BootParams;
use ppin_plugin::chosen;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// By this name the kernel lets us open our own executable, wherever it lies.
const OWN: &str = "/proc/self/exe";

/// This executable, as the file that holds the runtime.
#[derive(Debug)]
pub struct Carrier {
    /// The name by which the kernel lets this process open it, wherever it lies.
    pub path: PathBuf,
    /// Its path.
    pub name: PathBuf,
    /// Where in it the runtime lies.
    pub span: RuntimeSpan,
}

impl Carrier {
    /// Finds it.
    pub fn find() -> Result<Self, Failure> {
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
#[derive(Debug)]
pub struct Boot {
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
    places: Vec<u8>,
}

/// What is no text in the boot block.
///
/// # Errors
/// The limit of the database is none.
pub fn params(settings: &Settings, database: &Database) -> Result<BootParams<'static>, Failure> {
    let limit = |option: &EngineOption| match option {
        EngineOption::CacheLimit(kib) => Some(*kib),
        _ => None,
    };
    Ok(BootParams {
        cache_mode: database.mode,
        flags: flags(settings),
        check_every: check_every(settings),
        cache_limit_kib: settings.engine_option.iter().find_map(limit).unwrap_or(0),
        db_cap: size::cap(settings.max_size).map_err(Failure::of_ppin)?,
        optimize: settings.optimize,
        engine_id: runtime::ENGINE_ID,
        ..BootParams::EMPTY
    })
}

impl Boot {
    /// With these texts.
    pub fn new(
        (params, settings): (BootParams<'static>, &Settings),
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
            places: places(settings),
            ppin: bytes(&carrier.name),
            note: database.note.clone().unwrap_or_default().into_bytes(),
        }
    }

    /// As they are passed on.
    pub fn params(&self) -> BootParams<'_> {
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
            places: &self.places,
            ..self.params
        }
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.to_owned().into_os_string().into_vec()
}

fn places(args: &Settings) -> Vec<u8> {
    let path = |option: &EngineOption| match option {
        EngineOption::Places(file) => Some(bytes(file)),
        _ => None,
    };
    args.engine_option.iter().find_map(path).unwrap_or_default()
}

fn flags(args: &Settings) -> u32 {
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
fn check_every(args: &Settings) -> u64 {
    match args.check {
        Some(Check::Sample(Some(every))) => u64::from(every.get()),
        _ => 0,
    }
}
