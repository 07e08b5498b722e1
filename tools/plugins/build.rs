//! Links each object so that it needs nothing from outside; its entry address is the door.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for arg in [
        "-nostartfiles",
        "-nostdlib",
        "-Wl,-z,relro",
        "-Wl,-z,separate-loadable-segments",
        "-Wl,-z,noexecstack",
        "-Wl,--no-undefined",
        "-Wl,-Bsymbolic",
        "-Wl,--build-id=none",
        "-Wl,--no-eh-frame-hdr",
        "-Wl,-e,PPIN_TOOL",
    ] {
        println!("cargo::rustc-link-arg={arg}");
    }
}
