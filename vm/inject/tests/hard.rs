//! Launches from awkward processes, and launches that fail.

mod common;

use common::{Prepared, guest, injected, injected_by, runtime, write_script};
use ppin_inject::HelperSpace;
use ppin_inject::cpu::Cpu;
use ppin_inject::sys::{Args, Child, Kernel, nr, syscall};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

const SIGCHLD: usize = 17;
const SIGUSR1: usize = 10;
const SIGKILL: i32 = 9;
const NO_ROOM: &str = "ppin: no room to map the runtime\n";

fn call(number: u32, args: [usize; 6]) -> isize {
    // SAFETY: these tests pass numbers and live memory only.
    unsafe { syscall(number, args) }
}

fn block(signals: &[usize]) {
    let set = signals
        .iter()
        .fold(0u64, |set, signal| set | 1 << (signal - 1));
    call(
        nr::__NR_rt_sigprocmask,
        [0, (&raw const set) as usize, 0, 8, 0, 0],
    );
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn pending() -> PathBuf {
    guest("gcc", "pending.c", &[]).expect("gcc")
}

#[test]
fn an_app_that_blocks_sigchld_sees_none_of_ours() {
    let mut command = injected_by(&pending(), &[], |prepared| {
        block(&[SIGCHLD, SIGUSR1]);
        let own = call(nr::__NR_getpid, [0; 6]) as usize;
        call(nr::__NR_kill, [own, SIGUSR1, 0, 0, 0, 0]);
        prepared.go(&mut Cpu)
    });
    let seen = stdout(&command.output().expect("starts"));
    assert_eq!(seen, "SIGCHLD 0 SIGUSR1 1 child none\n");
}

#[test]
fn a_childs_own_sigchld_is_not_lost() {
    let mut command = injected_by(&pending(), &[], |prepared| {
        block(&[SIGCHLD]);
        let child = call(nr::__NR_fork, [0; 6]);
        if child == 0 {
            ppin_inject::sys::exit(0);
        }
        std::thread::sleep(Duration::from_millis(20));
        prepared.go(&mut Cpu)
    });
    let seen = stdout(&command.output().expect("starts"));
    assert_eq!(seen, "SIGCHLD 1 SIGUSR1 0 child ended\n");
}

#[test]
fn exec_from_a_thread() {
    let mut command = injected_by(Path::new("/bin/sh"), &["-c", "echo $$"], |prepared| {
        std::thread::scope(|scope| {
            scope.spawn(|| std::thread::sleep(Duration::from_secs(100)));
            scope
                .spawn(|| prepared.go(&mut Cpu))
                .join()
                .expect("no panic")
        })
    });
    command.stdout(Stdio::piped());
    let child = command.spawn().expect("starts");
    let pid = child.id();
    assert_eq!(
        stdout(&child.wait_with_output().expect("ends")),
        format!("{pid}\n")
    );
}

#[test]
fn exec_from_a_child_that_shares_our_memory() {
    unsafe extern "C" fn become_program(prepared: *mut u8) -> ! {
        // SAFETY: the test keeps it alive.
        let prepared = unsafe { &*prepared.cast::<Prepared>() };
        prepared.go(&mut Cpu);
        ppin_inject::sys::exit(99)
    }
    let prepared = Prepared::new(runtime(), Path::new("/bin/sh"), &["-c", "exit 5"]);
    let mut stack = vec![0u128; 8192];
    let word = std::sync::atomic::AtomicU32::new(0);
    let child = Child {
        entry: become_program,
        argument: (&raw const prepared).cast_mut().cast(),
        stack_top: stack.as_mut_ptr_range().end.cast(),
        tid: &raw const word,
    };
    // SAFETY: stack, word and argument live to the end of the test.
    let pid = unsafe { Cpu.spawn(&child) };
    let mut status = 0u32;
    let all = 0x4000_0000;
    call(
        nr::__NR_wait4,
        [pid as usize, (&raw mut status) as usize, all, 0, 0, 0],
    );
    assert_eq!(status >> 8, 5);
    // SAFETY: the helper's space, which it has left or is about to.
    unsafe { HelperSpace::finished(prepared.space) };
}

#[test]
fn a_failed_exec_returns_the_kernels_error_and_a_second_one_works() {
    let missing = Path::new("/nonexistent/program");
    let error = injected(missing, &[]).spawn().expect_err("is missing");
    assert_eq!(error.raw_os_error(), Some(2));
    let mut again = injected_by(Path::new("/bin/true"), &[], |prepared| {
        let mut wrong = prepared.clone_for(Path::new("/etc/passwd"));
        for _ in 0..20 {
            assert_eq!(wrong.go(&mut Cpu).raw_os_error(), Some(13));
        }
        wrong = prepared.clone_for(Path::new("/bin/true"));
        wrong.go(&mut Cpu)
    });
    assert_eq!(again.status().expect("starts").code(), Some(0));
}

#[test]
fn a_missing_interpreter_is_the_kernels_error() {
    let script = write_script("no-interpreter", "#!/nonexistent/interpreter\n");
    let error = injected(&script, &[])
        .spawn()
        .expect_err("has no interpreter");
    assert_eq!(error.raw_os_error(), Some(2));
}

/// Kills H at a moment of our choice.
struct Saboteur {
    helper: usize,
    at: u32,
}

impl Saboteur {
    fn before(&self, number: u32) {
        if number == self.at && self.helper != 0 {
            call(nr::__NR_kill, [self.helper, SIGKILL as usize, 0, 0, 0, 0]);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Kernel for Saboteur {
    unsafe fn call(&mut self, number: u32, args: Args) -> isize {
        self.before(number);
        // SAFETY: the caller's contract.
        unsafe { Cpu.call(number, args) }
    }

    unsafe fn exec(&mut self, word: &AtomicU32, number: u32, args: &Args) -> isize {
        self.before(number);
        // SAFETY: the caller's contract.
        unsafe { Cpu.exec(word, number, args) }
    }

    unsafe fn spawn(&mut self, child: &Child) -> isize {
        // SAFETY: the caller's contract.
        let pid = unsafe { Cpu.spawn(child) };
        self.helper = pid as usize;
        pid
    }
}

fn sabotaged(at: u32) -> Command {
    injected_by(Path::new("/bin/true"), &[], move |prepared| {
        prepared.go(&mut Saboteur { helper: 0, at })
    })
}

#[test]
fn a_helper_killed_before_it_seizes_means_no_exec() {
    let error = sabotaged(nr::__NR_prctl)
        .spawn()
        .expect_err("does not execute");
    assert_eq!(error.raw_os_error(), Some(3));
}

#[test]
fn a_helper_killed_after_it_seized_takes_the_program_along() {
    // The parent of a killed child learns nothing through the exec pipe, which
    // just closes: the child counts as started.
    let mut child = sabotaged(nr::__NR_execve)
        .spawn()
        .expect("counts as started");
    assert_eq!(child.wait().expect("ends").signal(), Some(SIGKILL));
}

#[test]
fn a_process_that_is_not_dumpable_can_be_launched() {
    let mut command = injected_by(Path::new("/bin/true"), &[], |prepared| {
        call(nr::__NR_prctl, [4, 0, 0, 0, 0, 0]);
        prepared.go(&mut Cpu)
    });
    assert_eq!(command.status().expect("starts").code(), Some(0));
}

#[test]
fn no_room_for_the_runtime_is_said() {
    let program = guest("gcc", "zero.S", &["-nostdlib", "-static"]).expect("gcc");
    let mut command = injected_by(&program, &[], |prepared| {
        let limit = [300u64 << 10; 2];
        let address_space = 9;
        call(
            nr::__NR_setrlimit,
            [address_space, limit.as_ptr() as usize, 0, 0, 0, 0],
        );
        prepared.go(&mut Cpu)
    });
    let output = command.output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.as_str()), (Some(125), NO_ROOM));
}

#[test]
fn a_stop_during_the_launch_stops_the_program() {
    struct StopFirst {
        stopped: bool,
    }
    impl Kernel for StopFirst {
        unsafe fn call(&mut self, number: u32, args: Args) -> isize {
            // SAFETY: the caller's contract.
            unsafe { Cpu.call(number, args) }
        }
        unsafe fn exec(&mut self, word: &AtomicU32, number: u32, args: &Args) -> isize {
            if !core::mem::replace(&mut self.stopped, true) {
                let own = call(nr::__NR_getpid, [0; 6]) as usize;
                call(nr::__NR_kill, [own, 19, 0, 0, 0, 0]);
            }
            // SAFETY: the caller's contract.
            unsafe { Cpu.exec(word, number, args) }
        }
        unsafe fn spawn(&mut self, child: &Child) -> isize {
            // SAFETY: the caller's contract.
            unsafe { Cpu.spawn(child) }
        }
    }
    let mut command = injected_by(Path::new("/bin/sh"), &["-c", "exit 6"], |prepared| {
        // The pipe by which the standard library learns of the exec would keep
        // our parent waiting while we are stopped: give it up.
        call(nr::__NR_close_range, [3, 1000, 0, 0, 0, 0]);
        prepared.go(&mut StopFirst { stopped: false })
    });
    let mut child = command.spawn().expect("counts as started");
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("alive");
    let stopped = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        state().contains(") T ")
    });
    assert!(stopped, "{}", state());
    call(nr::__NR_kill, [child.id() as usize, 18, 0, 0, 0, 0]);
    assert_eq!(child.wait().expect("ends").code(), Some(6));
}

#[test]
fn a_traced_process_is_told_so() {
    let seen = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .status();
    if !seen.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no strace");
    }
    // The test binary runs itself under strace: see `launched_under_strace`.
    let own = std::env::current_exe().expect("known");
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null"])
        .arg(own)
        .args(["--exact", "launched_under_strace", "--ignored"])
        .env_remove("RUST_TEST_THREADS")
        .output()
        .expect("strace runs");
    assert!(output.status.success(), "{}", stdout(&output));
}

#[test]
#[ignore = "run by a_traced_process_is_told_so"]
fn launched_under_strace() {
    let error = injected(Path::new("/bin/true"), &[])
        .spawn()
        .expect_err("is refused");
    assert_eq!(error.raw_os_error(), Some(1));
}
