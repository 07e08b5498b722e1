//! Which crate may know which: the plan of the house.
//!
//! A crate may only name crates above its own line, so no circle of crates can be written down.

use crate::crates::{below, project};
use crate::house::House;
use std::collections::BTreeMap;

/// A crate and those that it may depend on, from the bottom up.
#[rustfmt::skip] // a table: a line per crate
const PLAN: &[(&str, &[&str])] = &[
    ("vm/abi",          &[]),
    ("vm/memory",       &[]),
    ("vm/seccomp",      &[]),
    ("vm/plugin",       &["vm/abi"]),
    ("relocator",       &["vm/abi"]),
    ("vm/os",           &["vm/abi", "vm/seccomp"]),
    ("vm/inject",       &["vm/abi"]),
    ("vm/attach",       &["vm/abi", "vm/inject"]),
    ("persist",         &["vm/abi", "relocator"]),
    ("vm/launcher",     &["vm/abi", "vm/plugin", "vm/inject", "persist"]),
    ("vm/guard",        &["vm/abi", "vm/os"]),
    ("vm/store",        &["vm/os", "persist"]),
    ("tools/api",       &["vm/abi"]),
    ("tools/door",      &["vm/abi", "vm/plugin", "tools/api"]),
    ("vm/indirect",     &["vm/abi", "vm/os"]),
    ("vm/images",       &["vm/abi", "vm/os", "vm/store", "persist"]),
    ("vm/codecache",    &["vm/abi", "vm/os", "vm/guard", "vm/images", "vm/indirect", "vm/store", "relocator", "persist"]),
    ("vm/lift",         &["tools/api"]),
    ("vm/decode",       &["vm/abi", "relocator"]),
    ("vm/liveness",     &["vm/abi", "vm/decode"]),
    ("vm/operand",      &["vm/decode"]),
    ("vm/form",         &["vm/abi", "vm/decode", "vm/lift", "relocator"]),
    ("vm/lower",        &["vm/abi", "vm/decode", "vm/liveness", "vm/operand", "vm/form", "vm/lift", "tools/api"]),
    ("vm/jit",          &["vm/abi", "vm/decode", "vm/liveness", "vm/operand", "vm/form", "vm/lower", "vm/lift", "relocator", "tools/api"]),
    ("vm/offline",      &["vm/abi", "vm/plugin", "vm/jit", "relocator", "persist", "tools/api", "tools/door"]),
    ("vm/process",      &["vm/abi", "vm/seccomp", "vm/plugin", "vm/os", "vm/inject", "vm/indirect", "vm/images", "vm/codecache", "vm/jit", "tools/api"]),
    ("vm/translate",    &["vm/abi", "vm/os", "vm/store", "vm/indirect", "vm/images", "vm/codecache", "vm/decode", "vm/jit", "vm/offline", "vm/process", "relocator", "persist", "tools/api"]),
    ("vm/listing",      &["vm/os", "vm/process"]),
    ("vm/hosting",      &["vm/abi", "vm/lift", "vm/plugin", "vm/os", "vm/images", "vm/process", "persist", "tools/api", "tools/door"]),
    ("vm/engine",       &["vm/abi", "vm/decode", "vm/liveness", "vm/seccomp", "vm/plugin", "vm/os", "vm/inject", "vm/indirect", "vm/codecache", "vm/jit", "vm/process", "vm/translate", "vm/listing", "vm/hosting", "relocator", "persist", "tools/api"]),
    ("tools/sdk",       &["vm/memory", "tools/api", "tools/door"]),
    ("tools/testing",   &["vm/abi", "vm/jit", "relocator", "tools/api"]),
    ("tools/null",      &["tools/api", "tools/sdk"]),
    ("tools/icount",    &["tools/api", "tools/sdk"]),
    ("tools/branches",  &["tools/api", "tools/sdk"]),
    ("tools/cachesim",  &["tools/api", "tools/sdk"]),
    ("tools/bbcount",   &["tools/api", "tools/sdk"]),
    ("tools/opcodemix", &["tools/api", "tools/sdk"]),
    ("tools/memtrace",  &["tools/api", "tools/sdk"]),
    ("tools/bundled",   &["tools/api", "tools/sdk", "tools/null", "tools/icount", "tools/branches", "tools/cachesim", "tools/bbcount", "tools/opcodemix", "tools/memtrace"]),
    ("tools/plugins",   &["tools/sdk", "tools/null", "tools/icount", "tools/branches", "tools/cachesim", "tools/bbcount", "tools/opcodemix", "tools/memtrace"]),
    ("tools/template",  &["tools/api", "tools/sdk"]),
    ("vm/runtime",      &["vm/abi", "vm/memory", "vm/os", "vm/inject", "vm/process", "vm/engine"]),
    ("cachedb",         &["vm/abi", "relocator", "persist"]),
    ("cli",             &["vm/abi", "vm/attach", "vm/decode", "vm/liveness", "vm/memory", "vm/plugin", "vm/inject", "vm/launcher", "vm/offline", "relocator", "persist", "cachedb", "tools/api", "tools/door", "tools/sdk"]),
    ("benches",         &["vm/abi", "vm/offline", "tools/bundled"]),
    ("tests",           &[]),
];

/// Arrows that the plan forbids and that are still there. This list may only become shorter.
const STILL: &[(&str, &str)] = &[("cli", "vm/jit")];

/// Arrows that are not in the plan, and lines of the plan that are out of order.
pub fn complaints(house: &House) -> Vec<String> {
    let mut found = plan_points_down();
    let arrows = between_crates(house);
    for ((from, to), example) in &arrows {
        let still = STILL.contains(&(from, to));
        match (allowed(from, to), still) {
            (false, false) => found.push(forbidden(from, to, example)),
            (true, true) => found.push(format!("{from} may need {to}: remove it from STILL")),
            _ => {}
        }
    }
    let gone = STILL
        .iter()
        .filter(|(from, to)| !arrows.contains_key(&((*from).into(), (*to).into())));
    found.extend(gone.map(|(from, to)| format!("{from} needs {to} no more: remove it from STILL")));
    found
}

fn forbidden(from: &str, to: &str, example: &str) -> String {
    match PLAN.iter().any(|(name, _)| *name == from) {
        true => format!(
            "{from} needs {to} ({example}), which the plan does not have. Move what it needs \
             below both, have its caller hand it in, or change PLAN in tests/house/arrows.rs"
        ),
        false => format!("give {from} a line of PLAN in tests/house/arrows.rs"),
    }
}

/// From crate to crate, with where it is seen: in the manifest or in a file.
fn between_crates(house: &House) -> BTreeMap<(String, String), String> {
    let project = project();
    let mut arrows = BTreeMap::new();
    for &(from, to) in &house.arrows {
        let (from, to) = (&house.files[from], &house.files[to]);
        if from.krate != to.krate {
            let names = [&from.path, &to.path]
                .map(|path| below(&project, path))
                .join(" to ");
            arrows
                .entry((from.krate.clone(), to.krate.clone()))
                .or_insert(names);
        }
    }
    for krate in &house.crates {
        for to in &krate.depends {
            let manifest = format!("{}/Cargo.toml", krate.folder);
            arrows
                .entry((krate.folder.clone(), to.clone()))
                .or_insert(manifest);
        }
    }
    arrows
}

fn allowed(from: &str, to: &str) -> bool {
    PLAN.iter()
        .any(|(name, below)| *name == from && below.contains(&to))
}

fn plan_points_down() -> Vec<String> {
    let line = |name: &str| PLAN.iter().position(|(row, _)| *row == name);
    let arrows = PLAN
        .iter()
        .flat_map(|(from, below)| below.iter().map(move |to| (*from, *to)));
    arrows
        .filter(|(from, to)| line(to).is_none_or(|to| Some(to) >= line(from)))
        .map(|(from, to)| format!("PLAN lets {from} need {to}, which does not stand above it"))
        .collect()
}
