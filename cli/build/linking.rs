//! Links the `ppin` executable with an entry of its own, and without shared libraries: it starts
//! anew in front of every program, and the loader's work would be a quarter of the whole.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The kernel enters the executable at this symbol (`cli/src/entry.rs`).
pub fn enter_at(symbol: &str) {
    println!("cargo::rustc-link-arg-bins=-Wl,-e,{symbol}");
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
