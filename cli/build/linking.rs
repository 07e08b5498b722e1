//! Links the `ppin` executable with an entry of its own, and without shared libraries: it starts
//! anew in front of every program, and the loader's work would be a quarter of the whole.

use super::order;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The kernel enters the executable at this symbol (`cli/src/entry.rs`).
pub fn enter_at(symbol: &str) {
    println!("cargo::rustc-link-arg-bins=-Wl,-e,{symbol}");
}

/// Has the executable written in one piece, if lld links it. File systems keep what is written so in large pieces of
/// memory, and what is written page by page in single pages. Each program maps the runtime from there and
/// unmaps it again, which takes several times as long for single pages.
///
/// lld builds the file in memory when it is asked to map it, and maps it when it is not (22.1; should that be
/// set right one day, nothing is gained). `runtime` is what the same toolchain has linked: it tells of
/// the linker, unless the user's flags name another.
pub fn write_at_once(runtime: &[u8]) {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let usual = env::var_os("RUSTC_LINKER").is_none() && !flags.contains("link");
    if usual && order::is_by_lld(runtime) {
        println!("cargo::rustc-link-arg-bins=-Wl,--mmap-output-file");
    }
}

/// The linker finds scripts of ours in `folder` that name the archives in place of the
/// shared libraries which rustc asks for. Where the C library comes without archives, ppin
/// is merely slower.
pub fn link_statically(folder: &Path) {
    println!("cargo::rerun-if-env-changed=CC");
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
