//! Tells from the first bytes of a file whether it can be executed.

use ppin_abi::elf::{CLASS_32, CLASS_64, DYN, EXEC, Header, MAGIC, X86, X86_64};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// As many bytes as the kernel looks at.
const HEAD: usize = 256;

/// Kind of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program that can be instrumented, as far as its header tells.
    Program,
    /// A script, with its interpreter.
    Script(PathBuf),
    /// Neither: the kernel may know it, else it is for the shell.
    Unknown,
    /// Cannot be run under ppin, for this reason.
    Refused(&'static str),
}

/// Looks at the file.
pub fn kind(path: &Path) -> io::Result<Kind> {
    let mut head = Vec::with_capacity(HEAD);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)?;
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(of(&head))
}

fn of(head: &[u8]) -> Kind {
    if let Some(line) = head.strip_prefix(b"#!") {
        return script(line);
    }
    if head.starts_with(MAGIC) {
        return elf(head).map_or(Kind::Program, Kind::Refused);
    }
    let first_line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match head {
        [] => Kind::Refused("the file is empty"),
        _ if first_line.contains(&0) => Kind::Refused("it is neither a program nor a script"),
        _ => Kind::Unknown,
    }
}

/// The interpreter is the first word behind `#!` (execve(2)).
fn script(line: &[u8]) -> Kind {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty());
    match words.next() {
        Some(word) => Kind::Script(PathBuf::from(OsStr::from_bytes(word))),
        None => Kind::Unknown,
    }
}

/// Why an ELF file cannot be run under ppin.
fn elf(head: &[u8]) -> Option<&'static str> {
    let Some(header) = Header::read(head) else {
        return Some("its ELF header is cut off");
    };
    match (header.class, header.machine) {
        (CLASS_32, X86 | X86_64) => Some("it is a 32-bit program, which ppin cannot run"),
        (CLASS_64, X86_64) if !matches!(header.kind, EXEC | DYN) => {
            Some("it is not an executable ELF file")
        }
        (CLASS_64, X86_64) => None,
        _ => Some("it is a program for another kind of CPU"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(class: u8, kind: u8, machine: u8) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..4].copy_from_slice(b"\x7fELF");
        (head[4], head[16], head[18]) = (class, kind, machine);
        head
    }

    #[test]
    fn programs_are_told_by_class_machine_and_type() {
        assert_eq!(of(&header(2, 2, 62)), Kind::Program);
        assert_eq!(of(&header(2, 3, 62)), Kind::Program);
        for (class, kind, machine, word) in [
            (1, 2, 3, "32-bit"),
            (1, 3, 62, "32-bit"),
            (2, 1, 62, "executable"),
            (2, 3, 183, "CPU"),
        ] {
            let Kind::Refused(why) = of(&header(class, kind, machine)) else {
                panic!("{machine}")
            };
            assert!(why.contains(word), "{why}");
        }
        assert!(matches!(of(b"\x7fELFjunk"), Kind::Refused(_)));
    }

    #[test]
    fn interpreters_are_read_as_the_kernel_reads_them() {
        let script = |path: &str| Kind::Script(path.into());
        assert_eq!(of(b"#!/bin/sh\necho"), script("/bin/sh"));
        assert_eq!(of(b"#! \t/usr/bin/env  python3\n"), script("/usr/bin/env"));
        assert_eq!(of(b"#!sh"), script("sh"));
        assert_eq!(of(b"#!\n"), Kind::Unknown);
    }

    #[test]
    fn text_is_for_the_shell_and_data_for_nobody() {
        assert_eq!(of(b"echo hello\n"), Kind::Unknown);
        assert!(matches!(of(b"a\0b"), Kind::Refused(_)));
        assert!(matches!(of(b""), Kind::Refused(_)));
    }
}
