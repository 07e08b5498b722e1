//! Start-up: eleven short commands, CPU time over native.

use clap::Parser;
use ppin_benches::ways::Job;
use ppin_benches::{Options, curve, table};
use std::fs;
use std::process::Command;

fn main() {
    let options = Options::parse();
    let dir = tempfile::tempdir().expect("temp folder");
    fs::write(dir.path().join("hello.c"), HELLO).expect("source");
    fs::write(dir.path().join("page.ps"), PAGE).expect("page");
    make_pdf(dir.path());
    if options.curve {
        return curve::print(&options, &jobs(), dir.path());
    }
    table::print(&options, &jobs(), dir.path());
}

const HELLO: &str = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";

const PAGE: &str = "%!PS\n/Helvetica findfont 24 scalefont setfont 72 700 moveto (Hello) show\n\
                    72 72 moveto 300 300 lineto stroke showpage\n";

fn make_pdf(dir: &std::path::Path) {
    let args = [
        "-q",
        "-dBATCH",
        "-dNOPAUSE",
        "-sDEVICE=pdfwrite",
        "-sOutputFile=page.pdf",
        "page.ps",
    ];
    let _ = Command::new("gs").args(args).current_dir(dir).status();
}

#[rustfmt::skip] // a table
fn jobs() -> Vec<Job> {
    let all: [(&str, &str, &[&str]); 11] = [
        ("true",       "true",      &[]),
        ("ls -l",      "ls",        &["-l", "/usr/bin"]),
        ("bash -c",    "bash",      &["-c", "for i in 1 2 3; do echo $i; done"]),
        ("perl -e",    "perl",      &["-e", "print join(',', map { $_ * 2 } 1..100)"]),
        ("git version", "git",      &["--version"]),
        ("sqlite3",    "sqlite3",   &[":memory:", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2); SELECT sum(a) FROM t;"]),
        ("python3",    "python3",   &["-c", "pass"]),
        ("vim -es",    "vim",       &["-u", "NONE", "-es", "-c", "q"]),
        ("pdftotext",  "pdftotext", &["page.pdf", "-"]),
        ("gs",         "gs",        &["-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=nullpage", "page.ps"]),
        ("gcc -c",     "gcc",       &["-O2", "-c", "-o", "/dev/null", "hello.c"]),
    ];
    all.iter().filter_map(|(name, program, args)| Job::new(name, program, args)).collect()
}
