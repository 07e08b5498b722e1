//! Builds the runtime ELF and the objects of the bundled tools, which the `ppin` executable
//! carries inside.
//!
//! ```text
//! nested   the cargo that builds them, and what it must not inherit
//! rustc    what that cargo calls instead of rustc: bytes without any path
//! order    the order of the runtime's functions
//! strip    an object without what is not mapped into programs
//! variable what cargo tells a build script
//! watch    the files that they were made of
//! linking  the ppin executable without shared libraries
//! ```

mod linking;
mod nested;
mod order;
mod rustc;
mod strip;
mod variable;
mod watch;

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
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
    let built = nested::runtime(root, &out);
    linking::write_at_once(&built.bytes());
    let runtime = mapped_part(root, &built);
    let id: [u8; 32] = Sha256::digest(&runtime).into();
    let carried = [&runtime[..], &id].concat();
    fs::write(out.join("runtime.elf"), carried).expect("OUT_DIR is writable");
    fs::write(out.join("engine_id.in"), format!("{id:?}")).expect("OUT_DIR is writable");
    let mut list = String::from("[");
    for (name, built) in nested::tools(root, &out) {
        let object = mapped_part(root, &built);
        let file = out.join(format!("{name}.so"));
        fs::write(&file, &object).expect("OUT_DIR is writable");
        list += &format!(
            "Bundled {{ name: {name:?}, pages: &Pages(*include_bytes!({file:?})), hash: {} }},",
            hash(&object)
        );
    }
    fs::write(out.join("tools.in"), list + "]").expect("OUT_DIR is writable");
}

/// What is mapped of an object that was built; it is built again when its sources change.
fn mapped_part(root: &Path, built: &nested::Built) -> Vec<u8> {
    watch::rerun_if_changed(root, &built.dep_info);
    strip::mapped_part(&built.bytes()).expect("the linker makes an ELF file")
}

/// SHA-256, as an array in Rust.
fn hash(bytes: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    format!("{hash:?}")
}
