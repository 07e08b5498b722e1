//! Tools that are built as their authors build them.

use crate::build::work_dir;
use crate::ppin::Ppin;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tool of `ppin tool new`, called `name`, changed and built in a folder of its own.
///
/// # Panics
/// If it cannot be built.
pub fn build(name: &str, change: impl Fn(String) -> String) -> PathBuf {
    let folder = work_dir().join("tools");
    fs::create_dir_all(&folder).unwrap();
    let _ = fs::remove_dir_all(folder.join(name));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sdk = root.join("tools/sdk").display().to_string();
    let ppin = Ppin::new(&folder.join("db"));
    let made = ppin
        .verb(&["tool", "new", name, "--sdk", &sdk])
        .cwd(&folder);
    assert!(made.run_ok().text().contains("cargo build --release"));
    let krate = folder.join(name);
    let source = krate.join("src/lib.rs");
    fs::write(&source, change(fs::read_to_string(&source).unwrap())).unwrap();
    // With the versions that ppin itself is built with, nothing is asked of a registry.
    fs::copy(root.join("Cargo.lock"), krate.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--quiet", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&krate)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS");
    assert!(cargo.status().unwrap().success(), "{}", krate.display());
    folder.join(format!("target/release/lib{name}.so"))
}
