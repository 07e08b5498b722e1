//! Builds guest programs with the system's compilers, once: the executable is named
//! after a hash of its source and flags, and put in place when it is whole.

use crate::spec::{self, Spec};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, process};

/// A guest program's source and header.
#[derive(Debug)]
pub struct Guest {
    /// Path below tests/guests.
    pub path: String,
    /// Its header.
    pub spec: Spec,
    source: String,
}

impl Guest {
    /// Reads `path`, below tests/guests.
    pub fn load(path: &str) -> Guest {
        let source = fs::read_to_string(guests_dir().join(path)).expect("guest source");
        Guest {
            path: path.to_owned(),
            spec: Spec::parse(&source),
            source,
        }
    }

    /// The executable of this variant, built now or earlier; `None` (said on
    /// stderr) when this machine has no compiler for it.
    pub fn build(&self, variant: &str) -> Option<PathBuf> {
        let words = self.compiler_words(variant)?;
        let out = self.output_path(&words, variant);
        if !out.exists() {
            compile(&words, &out);
        }
        Some(out)
    }

    fn compiler_words(&self, variant: &str) -> Option<Vec<String>> {
        let compiler = match (variant, Path::new(&self.path).extension()) {
            ("musl", _) => "musl-gcc",
            (_, Some(ext)) if ext == "cc" => "g++",
            _ => "gcc",
        };
        if crate::skip::search_path(compiler).is_none() && !on_path(compiler) {
            crate::skip::skipped(&self.path, &format!("{compiler} is not installed"));
            return None;
        }
        let mut words = vec![
            compiler.to_owned(),
            "-O1".to_owned(),
            "-g".to_owned(),
            "-w".to_owned(),
        ];
        words.extend(variant_flags(variant).iter().map(|flag| (*flag).to_owned()));
        words.push(format!("-I{}", guests_dir().display()));
        words.extend(self.spec.cflags.iter().cloned());
        words.push(guests_dir().join(&self.path).display().to_string());
        words.extend(self.spec.libs.iter().cloned());
        Some(words)
    }

    fn output_path(&self, words: &[String], variant: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (&self.source, words, headers()).hash(&mut hasher);
        let stem = self.path.replace('/', ".");
        let stem = stem
            .rsplit_once('.')
            .map_or(stem.as_str(), |(stem, _)| stem);
        let folder = work_dir()
            .join("guests")
            .join(format!("{:016x}", hasher.finish()));
        fs::create_dir_all(&folder).expect("guest folder");
        folder.join(format!("{stem}.{variant}"))
    }
}

fn headers() -> String {
    fs::read_to_string(guests_dir().join("guest.h")).expect("guest.h")
}

fn on_path(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|p| env::split_paths(&p).any(|dir| dir.join(name).is_file()))
}

fn compile(words: &[String], out: &Path) {
    let temp = out.with_extension(format!(
        "tmp{}-{:?}",
        process::id(),
        std::thread::current().id()
    ));
    let output = Command::new(&words[0])
        .args(&words[1..])
        .arg("-o")
        .arg(&temp)
        .output();
    let output = output.unwrap_or_else(|e| panic!("{}: {e}", words[0]));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} failed:\n{complaint}",
        words.join(" ")
    );
    // Who was faster may have it running already: its file stays.
    match fs::hard_link(&temp, out) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{out:?}: {error}"),
        _ => fs::remove_file(&temp).expect("remove the other name"),
    }
}

fn variant_flags(variant: &str) -> &'static [&'static str] {
    match variant {
        "pie" => &["-fPIE", "-pie"],
        "nopie" => &["-fno-pie", "-no-pie"],
        "static" => &["-fno-pie", "-no-pie", "-static"],
        "static-pie" => &["-fPIE", "-static-pie"],
        "musl" => &["-fno-pie", "-no-pie", "-static"],
        "nostdlib" => &[
            "-fno-pie",
            "-no-pie",
            "-static",
            "-nostdlib",
            "-nostartfiles",
        ],
        _ => panic!("unknown variant {variant:?}"),
    }
}

/// tests/guests.
pub fn guests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guests")
}

/// Names of all guests in a group, as paths below tests/guests.
pub fn guests_in(group: &str) -> Vec<String> {
    let names = spec::sorted_dir(&guests_dir().join(group)).into_iter();
    let guests = names.filter(|name| {
        name.rsplit_once('.')
            .is_some_and(|(_, e)| spec::is_guest(e))
    });
    guests.map(|name| format!("{group}/{name}")).collect()
}

/// A folder for what the tests build and write, under the target directory that the
/// running test was built in.
pub fn work_dir() -> PathBuf {
    target_profile_dir().join("ppin-tests")
}

/// `target/debug` or its like, found from the running test's own path.
pub fn target_profile_dir() -> PathBuf {
    let exe = env::current_exe().expect("own path");
    let deps = exe.parent().expect("folder of the test");
    if deps.ends_with("deps") {
        deps.parent().expect("profile folder").to_owned()
    } else {
        deps.to_owned()
    }
}

/// Writes a program to `path`, in place if it is there. A child does it: had we the
/// file open for writing, a child forked by another test just then would keep it
/// open, and to execute it would be refused (`ETXTBSY`).
pub fn write_program(path: &Path, bytes: &[u8], mode: u32) {
    let mut child = Command::new("/bin/sh")
        .args(["-c", r#"cat >"$0" && chmod "$1" "$0""#])
        .arg(path)
        .arg(format!("{mode:o}"))
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(bytes).expect("program");
    drop(stdin);
    assert!(child.wait().expect("sh").success(), "{}", path.display());
}
