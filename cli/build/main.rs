//! Builds the runtime ELF, which the `ppin` executable carries inside.
//!
//! ```text
//! nested   the cargo that builds the runtime, and what it must not inherit
//! rustc    what that cargo calls instead of rustc: bytes without any path
//! strip    the runtime without what is not mapped into programs
//! variable what cargo tells a build script
//! watch    the files that the runtime was made of
//! linking  the ppin executable without shared libraries
//! ```

mod linking;
mod nested;
mod rustc;
mod strip;
mod variable;
mod watch;

use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use variable::variable;

fn main() {
    if rustc::is_wanted() {
        rustc::become_rustc();
    }
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = here.parent().expect("the workspace holds this package");
    let out = PathBuf::from(variable("OUT_DIR"));
    linking::enter_at("ppin_start");
    linking::link_statically(&out.join("archives"));
    let built = nested::build(root, &nested::target_dir(&out));
    watch::rerun_if_changed(root, &built.dep_info);
    let elf = fs::read(&built.elf).unwrap_or_else(|e| panic!("{}: {e}", built.elf.display()));
    let elf = strip::mapped_part(&elf).expect("the linker makes an ELF file");
    fs::write(out.join("runtime.elf"), &elf).expect("OUT_DIR is writable");
    let id: [u8; 32] = Sha256::digest(&elf).into();
    fs::write(out.join("engine_id.in"), format!("{id:?}")).expect("OUT_DIR is writable");
}
