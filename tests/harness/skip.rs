//! Skipping visibly: a test that cannot run here says so on the real stderr, which
//! the test runner does not capture, and passes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Says that a test, or a part of one, is skipped and why.
pub fn skipped(what: &str, why: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED {what}: {why}");
}

/// Finds a program along PATH, or says which test skips it.
pub fn find_program(name: &str, test: &str) -> Option<PathBuf> {
    let found = search_path(name);
    if found.is_none() {
        skipped(test, &format!("{name} is not installed"));
    }
    found
}

/// Finds an ELF program: a wrapper script found first along PATH is passed over.
pub fn search_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| is_elf(path))
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path)
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut magic))
        .is_ok_and(|()| magic == *b"\x7fELF")
}

/// Whether this CPU (as the kernel lists it) has all these features.
pub fn cpu_has(features: &[String]) -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    features
        .iter()
        .all(|feature| flags.split_whitespace().any(|flag| flag == feature))
}

/// Whether the tests run as root, who is not stopped by file modes.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
