//! Builds the runtime ELF, which the `ppin` executable carries inside.
//!
//! The runtime is a package outside the workspace, built by a cargo of its own:
//! as a member it would be compiled with the std features that other members ask
//! of shared dependencies. It is always optimized and never sees the flags of the
//! outer build (its code is part of the identity of persisted code).

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the runtime is made of, seen from the workspace's root.
const SOURCES: [&str; 4] = ["vm", "relocator", "persist", "tools"];

/// Variables of the outer build that would change the inner one.
const FOREIGN: [&str; 10] = [
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_LINKER",
    "CLIPPY_ARGS",
    "TARGET",
    "HOST",
    "PROFILE",
    "DEBUG",
];

/// Beginnings of such names.
const FOREIGN_KINDS: [&str; 10] = [
    "CARGO_BUILD_",
    "CARGO_CFG_",
    "CARGO_ENCODED_",
    "CARGO_FEATURE_",
    "CARGO_LLVM_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PRIMARY_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
];

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = here.parent().expect("the workspace holds this package");
    println!("cargo::rerun-if-changed=build.rs");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    link_statically(&out.join("archives"));
    let elf = build(&root.join("vm/runtime"), &target_dir(&out));
    let bytes = fs::read(&elf).unwrap_or_else(|e| panic!("{}: {e}", elf.display()));
    fs::write(out.join("runtime.elf"), &bytes).expect("OUT_DIR is writable");
    let id: [u8; 32] = Sha256::digest(&bytes).into();
    fs::write(out.join("engine_id.in"), format!("{id:?}")).expect("OUT_DIR is writable");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Links the executable without shared libraries: it starts anew in front of every
/// program, and the loader's work would be a quarter of the whole. The linker finds
/// scripts of ours that name the archives in place of the shared libraries which rustc
/// asks for. Where the C library comes without archives, ppin is merely slower.
fn link_statically(folder: &Path) {
    let Some(scripts) = scripts() else { return };
    fs::create_dir_all(folder).expect("OUT_DIR is writable");
    for (library, script) in scripts {
        fs::write(folder.join(format!("lib{library}.so")), script).expect("OUT_DIR is writable");
    }
    for arg in ["-static", "-no-pie", &format!("-L{}", folder.display())] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
}

/// For each library that rustc names: what to take instead. They need each other.
fn scripts() -> Option<Vec<(&'static str, String)>> {
    let needed: Option<Vec<String>> = ["c", "m", "gcc", "gcc_eh"].iter().map(archive).collect();
    let group = format!("GROUP({})\n", needed?.join(" "));
    let shared = ["c", "gcc_s", "m", "dl", "rt", "pthread", "util"];
    Some(shared.map(|name| (name, group.clone())).into())
}

/// Path of the compiler's archive of this name.
fn archive(name: &&str) -> Option<String> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let asked = Command::new(compiler)
        .arg(format!("-print-file-name=lib{name}.a"))
        .output();
    let path = String::from_utf8(asked.ok()?.stdout)
        .ok()?
        .trim()
        .to_owned();
    let found = Path::new(&path).is_absolute() && Path::new(&path).exists();
    found.then_some(path)
}

/// A folder of the runtime's own below the shared target folder:
/// `target/PROFILE/build/ppin-HASH/out` lies four levels deep.
fn target_dir(out: &Path) -> PathBuf {
    out.ancestors().nth(4).unwrap_or(out).join("runtime")
}

fn build(package: &Path, target: &Path) -> PathBuf {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(package)
        .args(["build", "--release", "--locked", "--quiet"]);
    cargo.arg("--target-dir").arg(target);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.contains(&&*text) || FOREIGN_KINDS.iter().any(|kind| text.starts_with(kind)) {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("cargo runs");
    assert!(
        status.success(),
        "building the runtime in {} failed",
        package.display()
    );
    target.join("release/ppin-runtime")
}
