//! Builds the stand-in runtime and the guests, and launches guests with it.
#![allow(dead_code)] // each test file uses its part

use ppin_abi::boot::RuntimeSpan;
use ppin_inject::block::BootParams;
use ppin_inject::cpu::Cpu;
use ppin_inject::sys::Kernel;
use ppin_inject::{Carrier, Exec, HelperSpace, Launch, launch_with};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// A directory for what the tests build.
pub fn workshop() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// The runtime ELF that lets the program run natively.
pub fn runtime() -> &'static Path {
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let target = workshop().join("runtime");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime"));
        cargo.args(["build", "--release", "--locked", "--no-default-features"]);
        cargo
            .args(["--features", "native-smoke", "--quiet", "--target-dir"])
            .arg(&target);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let foreign = name.starts_with("CARGO_") && name != "CARGO_HOME";
            if foreign || name.starts_with("RUSTC") || name == "RUSTFLAGS" {
                cargo.env_remove(name);
            }
        }
        assert!(cargo.status().expect("cargo runs").success());
        target.join("release/ppin-runtime")
    })
}

/// Compiles `guests/SOURCE` with `compiler ARGS`; `None` if there is no such compiler.
pub fn guest(compiler: &str, source: &str, args: &[&str]) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    let name = format!("{compiler}-{source}{}", args.concat()).replace(['/', ',', ' '], "_");
    let binary = workshop().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/guests")
        .join(source);
    let mut command = Command::new(compiler);
    command
        .args(["-w", "-o"])
        .arg(&binary)
        .arg(source)
        .args(args);
    let status = command.status().ok()?;
    assert!(status.success(), "{command:?}");
    Some(binary)
}

/// Writes an executable script. A child does it: had we the file open for writing, a
/// child forked by another test just then would keep it open, and to execute it would
/// be refused (`ETXTBSY`).
pub fn write_script(name: &str, text: &str) -> PathBuf {
    let path = workshop().join(name);
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", r#"printf %s "$1" >"$0" && chmod 755 "$0""#]);
    let status = sh.arg(&path).arg(text).status().expect("sh");
    assert!(status.success(), "{name}");
    path
}

/// What a launch in the child of a fork needs, prepared before it.
pub struct Prepared {
    carrier: CString,
    runtime: RuntimeSpan,
    path: CString,
    argv: Vec<CString>,
    envp: Vec<CString>,
    /// For the helper.
    pub space: *mut HelperSpace,
}

// SAFETY: used in one place at a time, in the forked child.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).expect("no zero inside")
}

fn pointers(strings: &[CString]) -> Vec<*const u8> {
    let strings = strings.iter().map(|text| text.as_ptr().cast());
    strings.chain([std::ptr::null()]).collect()
}

impl Prepared {
    /// From `carrier`, `program` with `args`.
    pub fn new(carrier: &Path, program: &Path, args: &[&str]) -> Self {
        let parent = format!("PARENT={}", std::process::id());
        let argv = [program.as_os_str()]
            .into_iter()
            .chain(args.iter().map(OsStr::new));
        let layout = std::alloc::Layout::new::<HelperSpace>();
        Self {
            carrier: c_string(carrier.as_os_str()),
            runtime: RuntimeSpan { offset: 0, len: 0 },
            path: c_string(program.as_os_str()),
            argv: argv.map(c_string).collect(),
            envp: vec![c"LC_ALL=C".into(), c_string(OsStr::new(&parent))],
            // SAFETY: the layout is not empty; leaked.
            space: unsafe { std::alloc::alloc_zeroed(layout) }.cast(),
        }
    }

    /// The same for another program.
    pub fn clone_for(&self, program: &Path) -> Self {
        let mut other = Self::new(runtime(), program, &[]);
        other.envp.clone_from(&self.envp);
        other
    }

    /// Launches through `kernel`, after whatever the caller did to this process.
    pub fn go<K: Kernel>(&self, kernel: &mut K) -> std::io::Error {
        let (argv, envp) = (pointers(&self.argv), pointers(&self.envp));
        let exec = Exec {
            at: None,
            path: self.path.as_ptr().cast(),
            argv: argv.as_ptr(),
            envp: envp.as_ptr(),
        };
        let boot = BootParams {
            tool: b"null",
            ..BootParams::EMPTY
        };
        let carrier = Carrier::At(&self.carrier);
        let request = Launch {
            boot,
            carrier,
            runtime: self.runtime,
            ident: None,
            exec,
        };
        // SAFETY: the space is this process's own.
        let failure = unsafe { launch_with(kernel, self.space, &request) };
        std::io::Error::from_raw_os_error(failure.errno.0)
    }
}

/// A command that becomes `program` with the stand-in runtime in it.
pub fn injected(program: &Path, args: &[&str]) -> Command {
    injected_by(program, args, |prepared| prepared.go(&mut Cpu))
}

/// As [`injected`], by an own way of launching.
pub fn injected_by<F>(program: &Path, args: &[&str], go: F) -> Command
where
    F: Fn(&Prepared) -> std::io::Error + Send + Sync + 'static,
{
    let prepared = Prepared::new(runtime(), program, args);
    let mut command = Command::new("/nonexistent");
    // SAFETY: the launcher neither allocates nor takes locks, except for two small
    // pointer tables, and the C library keeps its heap usable in forked children.
    unsafe { command.pre_exec(move || Err(go(&prepared))) };
    command
}

/// The same, without ppin.
pub fn native(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .env("PARENT", std::process::id().to_string());
    command.env("LC_ALL", "C");
    // Started by fork and exec like the others: posix_spawn leaves other
    // dispositions behind.
    // SAFETY: does nothing.
    unsafe { command.pre_exec(|| Ok(())) };
    command
}
