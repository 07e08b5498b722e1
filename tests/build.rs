//! Writes one `#[test]` for each guest program and way of linking it, so that the
//! test runner lists, filters and times them one by one.

#[path = "harness/spec.rs"]
#[allow(dead_code, reason = "only the variants matter here")]
mod spec;

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let guests = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("guests");
    println!("cargo::rerun-if-changed=guests");
    println!("cargo::rerun-if-changed=harness/spec.rs");
    let mut tests = String::new();
    for group in spec::sorted_dir(&guests) {
        // Guests of `special` are for tests of their own.
        if !guests.join(&group).is_dir() || group == "special" {
            continue;
        }
        println!("cargo::rerun-if-changed=guests/{group}");
        writeln!(tests, "mod {group} {{").unwrap();
        for file in spec::sorted_dir(&guests.join(&group)) {
            write_guest(&mut tests, &guests, &group, &file);
        }
        tests.push_str("}\n");
    }
    let out = Path::new(&env::var("OUT_DIR").unwrap()).join("guest_tests.rs");
    fs::write(out, tests).unwrap();
}

fn write_guest(tests: &mut String, guests: &Path, group: &str, file: &str) {
    let Some((name, _)) = file.rsplit_once('.').filter(|(_, ext)| spec::is_guest(ext)) else {
        return;
    };
    let source = fs::read_to_string(guests.join(group).join(file)).unwrap();
    let spec = spec::Spec::parse(&source);
    writeln!(tests, "mod {name} {{").unwrap();
    for variant in &spec.variants {
        let ident = variant.replace('-', "_");
        let path = format!("{group}/{file}");
        writeln!(
            tests,
            "#[test] fn as_{ident}() {{ ppin_tests::ways::check_guest({path:?}, {variant:?}); }}"
        )
        .unwrap();
    }
    tests.push_str("}\n");
}
