//! The program that the nested cargo calls instead of rustc: this build script itself, which calls
//! rustc with two changes. The runtime's bytes, and with them the key of all persisted code,
//! then depend on the sources alone, not on the folders that the checkout, cargo's home and
//! the toolchain lie in.
//!
//! - Paths in messages are seen from the workspace's root, or from `NAME-VERSION` for
//!   packages outside it.
//! - The word by which cargo tells crates apart (`-C metadata`) holds the package's absolute
//!   path. It goes into type ids and into the order of functions. Name, version and features
//!   take its place.

use sha2::{Digest, Sha256};
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says that this process is called in place of rustc; its value is the workspace's root.
const ROOT: &str = "PPIN_RUNTIME_ROOT";

/// The runtime hashes a few hundred bytes at its start. To ask the processor whether it can do that
/// faster takes longer than the hash, where a virtual machine answers.
const SOFT_SHA2: &str = "--cfg=sha2_backend=\"soft\"";

/// Lets `cargo` call this executable instead of rustc. Cargo keeps what it has compiled
/// while the flags are the same: one of them tells how this file was when it did. The
/// variable also stands for flags in the user's configuration, which do not get here.
pub fn stand_in(cargo: &mut Command, root: &Path) {
    let own = env::current_exe().expect("a build script knows its own path");
    let text = Sha256::digest(include_str!("rustc.rs"));
    let version: String = text[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let own_version = format!("--cfg=ppin_rustc=\"{version}\"");
    let flags = [&own_version, SOFT_SHA2].join("\x1f");
    cargo.env("RUSTC_WRAPPER", own).env(ROOT, root);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
}

/// Whether this process is called in place of rustc.
pub fn is_wanted() -> bool {
    env::var_os(ROOT).is_some()
}

/// Becomes rustc: its path and its arguments are ours.
pub fn become_rustc() -> ! {
    let mut words = env::args_os().skip(1);
    let rustc = words.next().expect("cargo names the compiler");
    let mut rest: Vec<OsString> = words.collect();
    if let Some(package) = Package::from_environment() {
        package.rename(&mut rest);
        rest.extend(package.without_paths(&rustc));
    }
    let error = Command::new(&rustc).args(rest).exec();
    panic!("{}: {error}", rustc.display());
}

/// The package that is compiled.
struct Package {
    name: String,
    folder: PathBuf,
}

impl Package {
    /// `None`: cargo asks rustc for its version.
    fn from_environment() -> Option<Self> {
        let (name, version) = (env::var("CARGO_PKG_NAME"), env::var("CARGO_PKG_VERSION"));
        Some(Self {
            name: format!("{}-{}", name.ok()?, version.ok()?),
            folder: env::var_os("CARGO_MANIFEST_DIR")?.into(),
        })
    }

    /// Replaces cargo's word for the crate.
    fn rename(&self, words: &mut [OsString]) {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let features = words.iter().map(text);
        let features: Vec<_> = features
            .filter(|word| word.starts_with("feature="))
            .collect();
        let metadata = format!("metadata={}-{}", self.name, features.join("-"));
        let cargos = words.iter_mut().filter(|word| {
            let word = word.to_string_lossy();
            word.starts_with("metadata=")
        });
        cargos.for_each(|word| *word = metadata.clone().into());
    }

    /// Options that name this package's files, and those of the standard library, without
    /// their folders. Of several that fit rustc takes the last.
    fn without_paths(&self, rustc: &OsString) -> Vec<OsString> {
        let mut options = Vec::new();
        let mut map = |from: &Path, to: &str| {
            let mut word = OsString::from("--remap-path-prefix=");
            word.push(from);
            word.push("=");
            word.push(to);
            options.push(word);
        };
        if let Some(library) = library(rustc) {
            map(&library, "/rust");
        }
        let root = PathBuf::from(env::var_os(ROOT).unwrap_or_default());
        let inside = self.folder.strip_prefix(&root);
        let folder = inside.map_or(self.name.as_str().into(), Path::to_string_lossy);
        map(&self.folder, &folder);
        // Cargo names the sources of the runtime's own package so.
        map(Path::new("src"), &format!("{folder}/src"));
        if let Some(out) = env::var_os("OUT_DIR") {
            map(Path::new(&out), &format!("{}/out", self.name));
        }
        options
    }
}

/// Where the sources of the standard library lie, if they are installed: then rustc names
/// them by their place on this machine.
fn library(rustc: &OsString) -> Option<PathBuf> {
    let asked = Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot = String::from_utf8(asked.ok()?.stdout).ok()?;
    Some(Path::new(sysroot.trim()).join("lib/rustlib/src/rust"))
}
