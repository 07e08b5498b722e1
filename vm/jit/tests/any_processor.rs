//! What the compiler makes does not depend on the processor that it runs on: no feature of
//! it is in the key of a unit, so that a database made on one machine serves another.

#![allow(missing_docs, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// Ways to ask the processor, or to be built for a certain one.
const QUESTIONS: &[&str] = &[
    "__cpuid",
    "_xgetbv",
    "feature_detected",
    "target_feature",
    "target_cpu",
    "core::arch",
    "std::arch",
    "asm!(",
    "AT_HWCAP",
    "/proc/cpuinfo",
];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found
}

/// Everything that has a say in the bytes of a unit.
#[test]
fn nothing_that_makes_units_asks_the_processor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = ["vm/jit/src", "vm/abi/src", "relocator/src", "persist/src"];
    let files: Vec<PathBuf> = crates
        .iter()
        .flat_map(|dir| sources(&root.join(dir)))
        .collect();
    assert!(files.len() > 80, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // `dynasm!(` writes instructions; it does not execute them.
        let text = text.replace("dynasm!(", "");
        for question in QUESTIONS {
            assert!(!text.contains(question), "{}: {question}", file.display());
        }
    }
}

/// Nor does the runtime get built for more than the baseline.
#[test]
fn the_runtime_is_built_for_any_processor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in [
        "vm/runtime/Cargo.toml",
        "cli/build.rs",
        "vm/runtime/build.rs",
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(
            !text.contains("target-cpu") && !text.contains("target-feature"),
            "{file}"
        );
    }
}
