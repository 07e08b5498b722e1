//! Real programs, a few seconds' worth: natively, cold and warm. What is not installed
//! is skipped and said so. (`scripts/real-programs` does more and longer ones.)

#![allow(missing_docs, reason = "tests")]

use ppin_tests::Cmd;
use ppin_tests::skip::find_program;
use ppin_tests::ways::three_ways;
use std::time::Duration;

fn shell(name: &str, needs: &[&str], script: &str) {
    if needs
        .iter()
        .any(|program| find_program(program, name).is_none())
    {
        return;
    }
    let bash = find_program("bash", name).expect("a shell");
    three_ways(
        &Cmd::new(bash)
            .args(["-c", script])
            .timeout(Duration::from_secs(120)),
    );
}

fn program(name: &str, args: &[&str]) {
    let Some(path) = find_program(name, name) else {
        return;
    };
    three_ways(&Cmd::new(path).args(args).timeout(Duration::from_secs(60)));
}

#[test]
fn ls() {
    program("ls", &["-l", "/usr/bin"]);
}

#[test]
fn bash_pipelines_and_subshells() {
    shell(
        "bash",
        &[],
        "for i in 1 2 3; do echo $i; done | sort -r | (read a; echo first $a; cat) ; x=$(echo in $(echo in)); echo $x; false || echo or; ! true; echo $?",
    );
}

#[test]
fn bash_traps_and_jobs() {
    shell(
        "traps",
        &[],
        "set -m; sleep 5 & sleep 0.3; jobs -r | wc -l; kill %1; wait %1; echo $?; set +m; trap 'echo usr1' USR1; trap 'echo bye' EXIT; kill -USR1 $$; (sleep 0.1; exit 4) & wait $!; echo $?",
    );
}

#[test]
fn python_modules() {
    let Some(python) =
        find_program("python3", "python").or_else(|| find_program("python3.11", "python"))
    else {
        return;
    };
    let script = "import json, re, hashlib, struct, ctypes\nprint(json.dumps({'a': [1, 2.5, None]}), re.findall(r'(\\w)(\\d+)', 'a1 b22 c333'))\nprint(hashlib.sha256(b'x' * 1000).hexdigest(), ctypes.CDLL(None).abs(-5))";
    three_ways(&Cmd::new(&python).args(["-S", "-c", script]));
    let script = "import threading, subprocess\nr = []\nt = [threading.Thread(target=lambda k=k: r.append(sum(range(k * 1000)))) for k in range(8)]\n[x.start() for x in t]; [x.join() for x in t]\nprint(sorted(r), subprocess.run(['echo', 'sub'], capture_output=True).stdout)";
    three_ways(&Cmd::new(&python).args(["-c", script]));
}

#[test]
fn perl() {
    program(
        "perl",
        &[
            "-e",
            "my %h; $h{$_ % 7} += $_ for 1..20000; print join(',', map { \"$_=$h{$_}\" } sort keys %h), \"\\n\"; print `echo sub`; $_ = 'aXbX'; s/X/-/g; print; eval { die 'caught' }; print $@",
        ],
    );
}

#[test]
fn git() {
    shell(
        "git",
        &["git"],
        "export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$PWD; git init -q -b main r && cd r && git config user.email a@b && git config user.name n && for i in 1 2 3; do echo $i >f$i; git add f$i; git commit -q -m c$i; done; git log --stat --oneline; git gc -q; git fsck; git status",
    );
}

#[test]
fn gcc_compiles() {
    shell(
        "gcc",
        &["gcc"],
        "printf '#include <stdio.h>\\nint main(void) { printf(\"%%d\\\\n\", 6 * 7); }\\n' >a.c; gcc -O2 -o a a.c && ./a; gcc -O2 -S -o - a.c; gcc -c bad.c; echo $?",
    );
}

#[test]
fn gxx_compiles() {
    shell(
        "g++",
        &["g++"],
        "printf '#include <vector>\\n#include <iostream>\\nint main() { std::vector<int> v{1, 2}; std::cout << v.size(); }\\n' >a.cc; g++ -O1 -o a a.cc && ./a",
    );
}

#[test]
fn make_in_parallel() {
    shell(
        "make",
        &["make"],
        "printf 'all: a b c d\\n%%: %%.in\\n\\tsort -r $< >$@\\n' >Makefile; for f in a b c d; do seq 100 >$f.in; done; make -s -j2; cat a b c d | cksum",
    );
}

#[test]
fn sqlite() {
    let script = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT sum(i), count(*), max(i * 7 % 1009) FROM n; CREATE TABLE t(a, b); INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i, i % 13 FROM n; CREATE INDEX x ON t(b); SELECT b, count(*), avg(a) FROM t GROUP BY b;";
    program("sqlite3", &[":memory:", script]);
}

#[test]
fn vim() {
    shell(
        "vim",
        &["vim.basic", "bash"],
        "seq 50 >f; vim.basic -u NONE -es -c '%s/1/one/g' -c 'g/2/d' -c 'w' -c 'q' f; cat f",
    );
    shell(
        "vim",
        &["vim"],
        "seq 50 >f; vim -u NONE -es -c '%s/1/one/g' -c 'g/2/d' -c 'w' -c 'q' f; cat f",
    );
}

#[test]
fn compressors() {
    shell(
        "compressors",
        &["tar", "gzip", "xz"],
        "mkdir d; for i in 1 2 3; do seq $i 3000 >d/$i; done; tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - d | gzip -n | xz -1 | cksum; tar --sort=name --mtime=@0 -cf t.tar d; gzip -k9n t.tar; gzip -dc t.tar.gz | cmp - t.tar; xz -0 <t.tar | xz -d | cmp - t.tar; echo $?",
    );
}

#[test]
fn openssl() {
    shell(
        "openssl",
        &["openssl"],
        "seq 50000 | openssl dgst -sha256; seq 50000 | openssl dgst -sha3-512; seq 1000 | openssl enc -aes-256-ctr -K 00 -iv 00 2>/dev/null | cksum",
    );
}

#[test]
fn documents() {
    shell(
        "gs",
        &["gs"],
        "printf '%%!PS\\n/Helvetica findfont 20 scalefont setfont 50 500 moveto (Hello) show 10 10 moveto 300 300 lineto stroke showpage\\n' >a.ps; gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=pgmraw -r36 -sOutputFile=a.pgm a.ps; cksum <a.pgm; gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=a.pdf a.ps; grep -ac Helvetica a.pdf",
    );
    shell(
        "pdftotext",
        &["gs", "pdftotext"],
        "printf '%%!PS\\n/Helvetica findfont 20 scalefont setfont 50 500 moveto (Hello) show showpage\\n' >a.ps; gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=a.pdf a.ps; pdftotext a.pdf -",
    );
}

#[test]
fn text_tools() {
    shell(
        "text tools",
        &[],
        "seq 2000 | awk '{ s += $1 % 7; a[$1 % 5]++ } END { print s, a[3] }'; seq 100 | sed -n '/5/{s/5/five/p}' | head -3; echo 'scale=20; 4*a(1)' | (bc -l 2>/dev/null || true); find /etc -maxdepth 1 -name 'pass*' | sort; printf '%s\\n' c a b | sort | tr a-z A-Z | rev; date -u -d @0; expr 6 \\* 7; dd if=/dev/zero bs=1k count=100 2>/dev/null | cksum; grep -c root /etc/passwd",
    );
}
