//! Steady state: programs that compute for about a second, CPU time over native.

use clap::Parser;
use ppin_benches::ways::Job;
use ppin_benches::{Options, table};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    let mut options = Options::parse();
    options.rounds = options.rounds.min(5);
    let dir = tempfile::tempdir().expect("temp folder");
    fs::write(dir.path().join("text"), text()).expect("input");
    let mut jobs = jobs();
    jobs.extend(compiled(dir.path(), "virtual calls", VIRTUAL_CALLS));
    jobs.extend(compiled(dir.path(), "recursion", RECURSION));
    table::print(&options, &jobs, dir.path());
}

/// Some megabytes that compress neither too well nor too badly.
fn text() -> String {
    let mut text = String::new();
    let mut state = 1u32;
    while text.len() < 6_000_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let _ = writeln!(
            text,
            "{} word{} {:x}",
            state >> 20,
            state % 997,
            state >> 12 & 0xfff
        );
    }
    text
}

const PYTHON: &str = "d = {}\nfor i in range(1500000): d[i % 777] = d.get(i % 777, 0) + i * i % 13\nprint(sum(d.values()))";
const PERL: &str =
    "my %h; for my $i (1..1500000) { $h{$i % 997} .= $i % 10; } print length(join '', values %h)";
const SQL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT sum(i * 7 % 1009), count(DISTINCT i % 5003) FROM n;";

#[rustfmt::skip] // a table
fn jobs() -> Vec<Job> {
    let all: [(&str, &str, &[&str]); 6] = [
        ("gzip",    "gzip",    &["-9c", "text"]),
        ("xz",      "xz",      &["-1c", "-T1", "text"]),
        ("bzip2",   "bzip2",   &["-c", "text"]),
        ("python3", "python3", &["-S", "-c", PYTHON]),
        ("perl",    "perl",    &["-e", PERL]),
        ("sqlite3", "sqlite3", &[":memory:", SQL]),
    ];
    all.iter().filter_map(|(name, program, args)| Job::new(name, program, args)).collect()
}

const VIRTUAL_CALLS: &str = r"
#include <memory>
#include <vector>
struct S { virtual unsigned f(unsigned x) const { return x + 1; } virtual ~S() {} };
struct A : S { unsigned f(unsigned x) const override { return x * 3; } };
struct B : S { unsigned f(unsigned x) const override { return x ^ 0x55; } };
struct C : S { unsigned f(unsigned x) const override { return x >> 1 | x << 31; } };
int main() {
    std::vector<std::unique_ptr<S>> v;
    for (int i = 0; i < 1000; i++)
        switch (i * 7919 % 4) {
            case 0: v.push_back(std::make_unique<S>()); break;
            case 1: v.push_back(std::make_unique<A>()); break;
            case 2: v.push_back(std::make_unique<B>()); break;
            default: v.push_back(std::make_unique<C>());
        }
    unsigned x = 1;
    for (int r = 0; r < 40000; r++) for (auto &p : v) x = p->f(x);
    return x == 0;
}";

const RECURSION: &str = "
static unsigned long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main() { return fib(34) == 0; }";

fn compiled(dir: &Path, name: &str, source: &str) -> Option<Job> {
    let stem = name.replace(' ', "_");
    fs::write(dir.join(format!("{stem}.cc")), source).expect("source");
    let args = [
        "-O1",
        "-fno-optimize-sibling-calls",
        "-o",
        &stem,
        &format!("{stem}.cc"),
    ];
    let built = Command::new("g++")
        .args(args)
        .current_dir(dir)
        .status()
        .is_ok_and(|s| s.success());
    if !built {
        eprintln!("SKIPPED {name}: no g++");
        return None;
    }
    Job::new(name, dir.join(stem).to_str()?, &[])
}
