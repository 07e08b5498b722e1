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
    in_order();
}

/// The order of functions that the outer build asks for, if it has found the linker to be lld.
fn in_order() {
    for name in ["PPIN_ORDER", "PPIN_ORDER_HASH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if let Ok(file) = std::env::var("PPIN_ORDER") {
        let ordering = ["--no-warn-symbol-ordering", "--symbol-ordering-file", &file];
        for arg in ordering {
            println!("cargo::rustc-link-arg-bins=-Xlinker");
            println!("cargo::rustc-link-arg-bins={arg}");
        }
    }
}
