//! Links the runtime as a static PIE that depends on nothing: no libc, no loader, no start files.
//! Its relocations are applied by its own entry code.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for arg in [
        "-nostartfiles",
        "-nostdlib",
        "-static-pie",
        "-Wl,-z,norelro",
        // Headers and code at the same offset in the file and in memory: the
        // bootstrap maps them in one piece.
        "-Wl,-z,separate-code",
        "-Wl,-z,noexecstack",
        "-Wl,-z,nopack-relative-relocs",
        "-Wl,--build-id=none",
        "-Wl,--no-eh-frame-hdr",
        "-Wl,-e,runtime_start",
    ] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
}
