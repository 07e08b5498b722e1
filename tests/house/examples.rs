//! Small projects, of which it is known what must be found.

use crate::check;
use crate::crates::{Crate, Kind, Root};
use crate::fields;
use crate::house::House;
use crate::parse;
use crate::safety::undocumented;
use crate::unused::of_workspace;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A project of library crates, each file given by its path: `CRATE/src/...`.
fn house(files: &[(&str, &str)]) -> House {
    let texts: HashMap<PathBuf, String> = files
        .iter()
        .map(|(path, text)| (PathBuf::from(path), String::from(*text)))
        .collect();
    let mut folders: Vec<&str> = files
        .iter()
        .filter_map(|(path, _)| path.split('/').next())
        .collect();
    folders.dedup();
    let crates = folders.into_iter().map(|folder| Crate {
        folder: folder.to_owned(),
        roots: vec![Root {
            kind: Kind::Source,
            file: PathBuf::from(format!("{folder}/src/lib.rs")),
            lib: Some(folder.to_owned()),
        }],
        depends: Vec::new(),
        imports: Vec::new(),
    });
    House::read(crates.collect(), &|file: &Path| texts.get(file).cloned())
}

/// The arrows as text, `a.rs > b.rs`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let house = house(files);
    let name = |file: usize| {
        let path = house.files[file].path.display().to_string();
        path.replace("/src", "").replace("one/", "")
    };
    let mut arrows: Vec<String> = house
        .arrows
        .iter()
        .map(|&(from, to)| format!("{} > {}", name(from), name(to)))
        .collect();
    arrows.sort();
    arrows
}

#[test]
fn an_import_and_a_path_are_arrows() {
    let found = arrows(&[
        ("one/src/lib.rs", "mod a; mod b; mod c;"),
        (
            "one/src/a.rs",
            "use crate::b::{self, B}; fn f() { super::c::g(); }",
        ),
        ("one/src/b.rs", "pub struct B;"),
        ("one/src/c.rs", "pub fn g() {}"),
    ]);
    assert_eq!(found, ["a.rs > b.rs", "a.rs > c.rs"]);
}

#[test]
fn declaring_and_handing_on_is_no_arrow() {
    let found = arrows(&[
        (
            "one/src/lib.rs",
            "mod a; mod b; pub use a::A; pub(crate) use b::*;",
        ),
        ("one/src/a.rs", "pub struct A;"),
        ("one/src/b.rs", "use crate::A;\nimpl A {}"),
    ]);
    assert_eq!(found, ["b.rs > a.rs"]);
}

#[test]
fn a_re_export_that_is_used_is_an_arrow() {
    let found = arrows(&[
        ("one/src/lib.rs", "mod a; pub use a::A; fn f() -> A { A }"),
        ("one/src/a.rs", "pub struct A;"),
    ]);
    assert_eq!(found, ["lib.rs > a.rs"]);
}

#[test]
fn an_imported_module_is_met_where_its_items_are_used() {
    let lib = ("one/src/lib.rs", "mod a; mod b;");
    let b = ("one/src/b.rs", "pub fn g() {}");
    assert!(arrows(&[lib, ("one/src/a.rs", "use crate::b;"), b]).is_empty());
    let found = arrows(&[
        lib,
        ("one/src/a.rs", "use crate::b as x; fn f() { x::g() }"),
        b,
    ]);
    assert_eq!(found, ["a.rs > b.rs"]);
}

#[test]
fn a_module_and_its_function_may_have_one_name() {
    let found = arrows(&[
        ("one/src/lib.rs", "mod a; mod b; pub use b::b;"),
        ("one/src/a.rs", "use crate::b; fn f() { b(); b::other(); }"),
        ("one/src/b.rs", "pub fn b() {} pub fn other() {}"),
    ]);
    assert_eq!(found, ["a.rs > b.rs"]);
}

#[test]
fn globs_lead_to_what_is_used() {
    let found = arrows(&[
        ("one/src/lib.rs", "mod a; mod b; mod c;"),
        ("one/src/a.rs", "use crate::b::*; fn f(_: Used) {}"),
        ("one/src/b.rs", "pub use crate::c::*; pub struct Unused;"),
        ("one/src/c.rs", "pub struct Used;"),
    ]);
    assert_eq!(found, ["a.rs > c.rs"]);
}

#[test]
fn macros_are_followed_by_name_and_what_they_are_given_counts() {
    let found = arrows(&[
        ("one/src/lib.rs", "#[macro_use] mod m; mod a; mod b;"),
        (
            "one/src/m.rs",
            "macro_rules! hello { () => { $crate::b::g() } }",
        ),
        (
            "one/src/a.rs",
            "fn f() { hello!(); other!(x.b, crate::b::g); }",
        ),
        ("one/src/b.rs", "pub fn g() {}"),
    ]);
    assert_eq!(found, ["a.rs > b.rs", "a.rs > m.rs", "m.rs > b.rs"]);
}

#[test]
fn folders_and_inner_modules_are_found() {
    let found = arrows(&[
        (
            "one/src/lib.rs",
            "mod a; mod inner { pub mod deep; pub fn f() { super::a::b::g() } }",
        ),
        ("one/src/a/mod.rs", "pub mod b;"),
        (
            "one/src/a/b.rs",
            "pub fn g() { super::super::inner::deep::h() }",
        ),
        ("one/src/inner/deep.rs", "pub fn h() {}"),
    ]);
    assert_eq!(found, ["a/b.rs > inner/deep.rs", "lib.rs > a/b.rs"]);
}

#[test]
fn what_only_tests_compile_is_no_arrow_and_no_line() {
    let files = [
        ("one/src/lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\n"),
        (
            "one/src/a.rs",
            "pub fn g() {}\n#[cfg(test)]\nmod tests {\n    use crate::*;\n    #[test]\n    fn t() {}\n}\n",
        ),
        (
            "one/src/tests.rs",
            "use crate::a::g;\nproptest! { #[test] fn u() { g() } }\n",
        ),
    ];
    assert!(arrows(&files).is_empty());
    let house = house(&files);
    assert_eq!((house.lines("one"), house.tests("one")), (4, 2));
}

#[test]
fn other_crates_are_reached_by_name() {
    let found = arrows(&[
        (
            "one/src/lib.rs",
            "use two::Thing; use std::fmt; use serde::Thing as Other;",
        ),
        ("two/src/lib.rs", "mod inside; pub use inside::Thing;"),
        ("two/src/inside.rs", "pub struct Thing;"),
    ]);
    assert_eq!(found, ["lib.rs > two/inside.rs"]);
}

#[test]
fn symbols_of_the_linker_are_arrows() {
    let found = arrows(&[
        (
            "one/src/lib.rs",
            "unsafe extern \"Rust\" { safe fn call_up(n: u8); fn landed(); }",
        ),
        ("two/src/lib.rs", "mod up; mod asm;"),
        ("two/src/up.rs", "#[unsafe(no_mangle)] fn call_up(_: u8) {}"),
        (
            "two/src/asm.rs",
            "global_asm!(\"landed:\", \"call call_up\");",
        ),
    ]);
    assert_eq!(
        found,
        [
            "lib.rs > two/asm.rs",
            "lib.rs > two/up.rs",
            "two/asm.rs > two/up.rs"
        ]
    );
}

#[test]
fn circles_are_found_and_go_by_their_crate() {
    let files = [
        ("one/src/lib.rs", "mod a; mod b; mod c; mod d;"),
        ("one/src/a.rs", "use crate::b::B; pub struct A;"),
        ("one/src/b.rs", "use crate::c::C; pub struct B;"),
        ("one/src/c.rs", "use crate::a::A; pub struct C;"),
        ("one/src/d.rs", "use crate::a::A;"),
    ];
    let house = house(&files);
    assert_eq!(house.circle("one").len(), 3);
    assert!(house.circle("two").is_empty());
    assert!(check::circles(&house, &[]).is_empty());
}

#[test]
fn a_limit_is_kept_exceeded_or_an_exception_is_loose() {
    let long = "fn f() {}\n".repeat(10_000);
    let house = house(&[("one/src/lib.rs", long.as_str())]);
    let begins =
        |complaints: &[String], text: &str| matches!(complaints, [only] if only.starts_with(text));
    assert!(begins(&check::sizes(&house, &[]), "one has 10000 lines"));
    assert!(check::sizes(&house, &[("one", 10_500)]).is_empty());
    assert!(begins(
        &check::sizes(&house, &[("one", 12_000)]),
        "one is at 10000 now"
    ));
    let short = self::house(&[("one/src/lib.rs", "fn f() {}")]);
    assert!(begins(
        &check::sizes(&short, &[("one", 10_000)]),
        "one keeps the limit"
    ));
}

#[test]
fn statics_of_code_and_casts_to_it_are_found() {
    let hidden = |text: &str| parse::file(text).unwrap().hidden.len();
    assert_eq!(hidden("static F: Once<fn(u8) -> u8> = Once::new();"), 1);
    assert_eq!(
        hidden("static F: Mutex<Option<&'static dyn Up>> = Mutex::new(None);"),
        1
    );
    assert_eq!(
        hidden("static F: AtomicPtr<()> = AtomicPtr::new(null_mut());"),
        1
    );
    assert_eq!(
        hidden("fn f(p: usize) { transmute::<usize, fn()>(p)() }"),
        1
    );
    assert_eq!(
        hidden("static N: AtomicUsize = AtomicUsize::new(0); fn f(g: fn()) { g() }"),
        0
    );
}

#[test]
fn unsafe_without_a_reason_is_found() {
    assert_eq!(undocumented("fn f() {\n    unsafe { g() }\n}"), [2]);
    assert_eq!(undocumented("unsafe impl Send for X {}"), [1]);
    let reasons = [
        "fn f() {\n    // SAFETY: sound.\n    unsafe { g() }\n}",
        "fn f() {\n    // SAFETY: sound,\n    // and how.\n    let x = h(\n        unsafe { g() },\n    );\n}",
        "// SAFETY: no state.\nunsafe impl Send for X {}",
    ];
    for text in reasons {
        assert!(undocumented(text).is_empty(), "{text}");
    }
}

#[test]
fn a_dependency_that_no_crate_asks_for_is_found() {
    let workspace =
        "[workspace.dependencies]\nused = \"1\"\nalso = \"1\"\nleft = \"2\"\n\n[x]\ny = 1\n";
    let manifests = [String::from(
        "used.workspace = true\nalso = { workspace = true }\nleft = \"3\"\n",
    )];
    assert_eq!(
        of_workspace(workspace, &manifests).collect::<Vec<_>>(),
        ["left"]
    );
}

#[test]
fn fields_that_other_files_reach_are_found() {
    let text = "pub struct A { a: u8, pub b: u8, pub(crate) c: u8 } struct B(u8, pub u8); mod m {}";
    let open = |name| fields::open(text, name, fields::is_seen);
    assert_eq!(open("A"), Some(vec!["b".into(), "c".into()]));
    assert_eq!(open("B"), Some(vec!["1".into()]));
    assert_eq!([open("m"), open("C")], [None, None]);
    let public = fields::open(text, "A", fields::is_public);
    assert_eq!(public, Some(vec!["b".into()]));
}
