//! Programs of every kind are launched with the stand-in runtime in them and must
//! look from inside as if the kernel had started them alone.

mod common;

use common::{guest, injected, native, write_script};
use ppin_inject::sys::{nr, syscall};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Children of this thread get the same addresses every time.
fn fix_addresses() {
    const ADDR_NO_RANDOMIZE: usize = 0x0004_0000;
    // SAFETY: takes a number.
    unsafe { syscall(nr::__NR_personality, [ADDR_NO_RANDOMIZE, 0, 0, 0, 0, 0]) };
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs natively and injected; both must look the same from inside and outside.
fn compare(program: &Path, args: &[&str]) -> Output {
    fix_addresses();
    let expected = native(program, args).output().expect("starts natively");
    let seen = injected(program, args).output().expect("starts injected");
    assert_eq!(
        text(&expected.stdout),
        text(&seen.stdout),
        "{}",
        text(&seen.stderr)
    );
    assert_eq!(text(&expected.stderr), text(&seen.stderr));
    assert_eq!(expected.status, seen.status);
    seen
}

fn report(compiler: &str, args: &[&str]) -> Option<PathBuf> {
    guest(compiler, "report.c", args)
}

#[test]
fn dynamic_pie() {
    let program = report("gcc", &[]).expect("gcc");
    let seen = compare(&program, &["exit", "42"]);
    assert_eq!(seen.status.code(), Some(42));
    assert!(
        text(&seen.stdout).contains("wait -1 10\n"),
        "no child is left over"
    );
}

#[test]
fn dynamic_at_fixed_address() {
    compare(&report("gcc", &["-no-pie"]).expect("gcc"), &[]);
}

#[test]
fn statically_linked() {
    compare(&report("gcc", &["-static"]).expect("gcc"), &[]);
}

#[test]
fn static_pie() {
    compare(&report("gcc", &["-static-pie"]).expect("gcc"), &[]);
}

#[test]
fn musl() {
    match report("musl-gcc", &["-static"]) {
        Some(program) => drop(compare(&program, &[])),
        None => eprintln!("skipped: no musl-gcc"),
    }
}

#[test]
fn killed_by_a_signal() {
    let seen = compare(&report("gcc", &[]).expect("gcc"), &["kill", "15"]);
    assert_eq!(seen.status.signal(), Some(15));
}

#[test]
fn registers_are_as_the_kernel_leaves_them() {
    let program = guest("gcc", "zero.S", &["-nostdlib", "-static"]).expect("gcc");
    assert_eq!(compare(&program, &[]).status.code(), Some(0));
}

#[test]
fn a_page_that_differs_from_its_file_is_restored() {
    let program = guest("gcc", "omagic.S", &["-nostdlib", "-static", "-Wl,-N"]).expect("gcc");
    assert_eq!(compare(&program, &[]).status.code(), Some(7));
}

#[test]
fn script() {
    let report = report("gcc", &[]).expect("gcc");
    let script = write_script("script", &format!("#!{} word\n", report.display()));
    compare(&script, &["more"]);
}

#[test]
fn shell_with_children() {
    let seen = compare(
        Path::new("/bin/sh"),
        &["-c", "echo a | cat; (exit 3); echo $?; ls /usr"],
    );
    assert!(text(&seen.stdout).starts_with("a\n3\n"));
}

#[test]
fn randomized_addresses() {
    for _ in 0..50 {
        let seen = injected(Path::new("/bin/echo"), &["x"])
            .output()
            .expect("starts");
        assert_eq!(
            (seen.status.code(), text(&seen.stdout).as_str()),
            (Some(0), "x\n")
        );
    }
}
