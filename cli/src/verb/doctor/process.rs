//! Rights and limits of this process, which the programs that it starts inherit.

use super::finding::Finding;
use crate::preflight;
use nix::sys::resource::{Resource, getrlimit};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Address space that ppin wants beside the program's own.
const ROOM: u64 = 1 << 30;

/// `/proc` shows what is mapped where, and our own executable.
pub fn proc_mounted() -> Finding {
    const WHAT: &str = "/proc";
    let needed = ["/proc/self/exe", "/proc/self/maps", "/proc/self/mem"];
    match needed.iter().find(|path| fs::File::open(path).is_err()) {
        None => Finding::good(WHAT, "mounted"),
        Some(path) => Finding::bad(
            WHAT,
            format!("{path} cannot be read: no program can be started"),
        ),
    }
}

/// A field of `/proc/self/status`.
fn status(name: &str) -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mut fields = status.lines().filter_map(|line| line.split_once(':'));
    fields
        .find(|(field, _)| *field == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// A process that has a tracer cannot be traced by ppin's helper.
pub fn traced() -> Finding {
    const WHAT: &str = "tracer";
    match status("TracerPid").as_deref() {
        None | Some("0") => Finding::good(WHAT, "none"),
        Some(pid) => Finding::good(
            WHAT,
            format!("process {pid} traces this one: programs run as children of ppin"),
        ),
    }
}

/// Filters are inherited; whether they refuse what ppin needs is seen by trying.
pub fn seccomp() -> Finding {
    const WHAT: &str = "seccomp";
    match status("Seccomp").as_deref() {
        Some("2") => Finding::good(
            WHAT,
            "a filter is in force; see whether programs start, below",
        ),
        _ => Finding::good(WHAT, "no filter"),
    }
}

/// Memory that was writable must never become executable. Fresh code has two views and
/// needs no such thing; kept code is made executable when it has been compared.
#[allow(unsafe_code)]
pub fn memory_deny_write_execute() -> Finding {
    const WHAT: &str = "memory";
    const PR_GET_MDWE: i32 = 66;
    // SAFETY: takes and returns numbers only.
    let flags = unsafe { nix::libc::prctl(PR_GET_MDWE, 0, 0, 0, 0) };
    if flags > 0 {
        return Finding::bad(
            WHAT,
            "what was written may not be executed (PR_SET_MDWE): kept code is not used, every run translates",
        );
    }
    Finding::good(WHAT, "translated code may be executed")
}

/// `ulimit -v`.
pub fn address_space() -> Finding {
    const WHAT: &str = "address space";
    match getrlimit(Resource::RLIMIT_AS) {
        Ok((soft, _)) if soft < ROOM => Finding::bad(
            WHAT,
            format!(
                "limited to {} (ulimit -v): little remains for programs",
                crate::text::size(soft)
            ),
        ),
        _ => Finding::good(WHAT, "enough"),
    }
}

/// A helper born into another namespace cannot trace us.
pub fn pid_namespace() -> Finding {
    const WHAT: &str = "pid namespace";
    if preflight::pid_namespace_pending() {
        return Finding::bad(
            WHAT,
            "children would live in another one: no program can be started",
        );
    }
    Finding::good(WHAT, "shared with children")
}

/// The proof: a program under ppin.
pub fn launch() -> Finding {
    const WHAT: &str = "start";
    let Some(program) = ["/bin/true", "/usr/bin/true"]
        .into_iter()
        .find(|path| Path::new(path).exists())
    else {
        return Finding::good(WHAT, "not tried: there is no /bin/true");
    };
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["run", "--cache", "off", "--", program])
        .stdin(Stdio::null());
    match command.output() {
        Err(error) => Finding::bad(WHAT, format!("ppin cannot run itself: {error}")),
        Ok(done) if done.status.success() => {
            Finding::good(WHAT, format!("{program} runs under ppin"))
        }
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = said.lines().next().unwrap_or("without a word");
            Finding::bad(
                WHAT,
                format!(
                    "{program} does not run under ppin: {said} ({})",
                    done.status
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_status() {
        assert!(status("Pid").unwrap().parse::<u32>().is_ok());
        assert_eq!(status("NoSuchField"), None);
        assert!(proc_mounted().good);
    }
}
