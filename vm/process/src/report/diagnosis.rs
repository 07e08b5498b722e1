//! The crash report of ppin itself: the app instruction that was executed, its fragment, where that
//! came from, and how to repeat the run.
//!
//! No state is reliable at this point: the heap may be locked, the VM half changed. So the first
//! line is written before any state is read, a second failure ends the report, and an alarm ends
//! the process if the report hangs. The report also goes to the log: the program may have closed
//! descriptor 2.

use crate::gate::disp::scratch;
use crate::signal::{DEFAULT, HOLD_ALL, bit};
use crate::thread::{Reason, Thread};
use crate::translate;
use crate::vm::{self, Vm};
use crate::words::name;
use alloc::string::String;
use core::fmt::{Arguments, Write};
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::boot::{CacheMode, flag};
use ppin_abi::optimize::Optimize;
use ppin_abi::record::{SyscallRec, TrapRec};
use ppin_os::signals::{self, KernelSigaction};
use ppin_os::{c, file, peek, report};

/// Seconds until the alarm ends a hanging report.
const TIMEOUT_SECONDS: usize = 5;
/// Longest part of the command line that is shown, in bytes.
const COMMAND: usize = 1500;

/// Prints `what` has failed and the crash report. `pc`: where (`None`: somewhere in the VM).
/// `thread`: in which thread (`None`: the one that runs on this stack).
pub fn say(what: Arguments<'_>, thread: Option<&Thread>, pc: Option<u64>) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    report::line(what);
    if REPORTED.swap(true, Ordering::Relaxed) {
        return;
    }
    set_alarm();
    let mut vm = vm::lock_for_crash_report();
    vm.log(what);
    vm.write_log();
    let thread = thread.or_else(|| running(&vm));
    if let Some(thread) = thread {
        tell(&vm, format_args!("{}", last_entry(&vm, thread)));
    }
    let place = [pc, thread.map(|t| t.operand), thread.map(|t| t.entering)];
    match place
        .into_iter()
        .flatten()
        .find(|at| vm.code().in_cache(*at))
    {
        Some(at) => code(&vm, at),
        None => tell(&vm, format_args!("in no translated code")),
    }
    tell(&vm, format_args!("to repeat: {}", command(&vm)));
    tell(
        &vm,
        format_args!("does it fail with --cache off too? with --check? please report this"),
    );
}

/// Prints one line of the report, and logs it.
fn tell(vm: &Vm, what: Arguments<'_>) {
    report::line(format_args!("ppin:   {what}"));
    vm.log_at_once(what);
}

fn set_alarm() {
    let default = KernelSigaction {
        handler: DEFAULT,
        ..KernelSigaction::default()
    };
    // SAFETY: no handler is installed.
    let _ = unsafe { signals::sigaction(c::SIGALRM, Some(&default)) };
    // SAFETY: takes a number.
    let _ = unsafe { ppin_os::call(c::__NR_alarm, [TIMEOUT_SECONDS, 0, 0, 0, 0, 0]) };
    signals::set_mask(HOLD_ALL & !bit(c::SIGALRM));
}

/// The thread whose stack this code runs on.
fn running(vm: &Vm) -> Option<&Thread> {
    let here = core::ptr::from_ref(&vm) as u64;
    let mut threads = vm.threads().all();
    threads.find(|thread| here.wrapping_sub(thread.map.0) < thread.map.1)
}

/// Why the VM was entered last.
fn last_entry(vm: &Vm, thread: &Thread) -> String {
    let at = thread.operand;
    let app = |off: i32| name(vm, ImageOff(off).at(vm.code().base_at(at)));
    let known = vm.code().in_cache(at);
    match thread.reason {
        r if r == Reason::Exit as u64 && known => {
            let exit = vm.code().exit_at(at);
            let from = exit.and_then(|exit| translate::spot(vm, exit.branch));
            let [from, to] = [from.map(|spot| spot.pc), exit.map(|exit| exit.target)]
                .map(|pc| pc.map_or_else(String::new, |pc| name(vm, pc)));
            alloc::format!("last on the way from {from} to {to}")
        }
        r if r == Reason::Trap as u64 && known => {
            // SAFETY: the address of a record in the cache.
            let rec = unsafe { (at as *const TrapRec).read() };
            alloc::format!("last at {}, left to the VM ({})", app(rec.pc), rec.kind)
        }
        r if (r == Reason::Syscall as u64 || r == Reason::AfterCall as u64) && known => {
            // SAFETY: as above.
            let rec = unsafe { (at as *const SyscallRec).read() };
            let nr = thread.area.scratch[scratch::SYS_NR];
            alloc::format!("last in system call {nr} at {}", app(rec.pc))
        }
        r if r == Reason::Indirect as u64 => {
            alloc::format!("last on an indirect branch to {}", name(vm, AppPc(at)))
        }
        _ => alloc::format!("last to go on at {}", name(vm, AppPc(thread.resume_pc))),
    }
}

/// Prints the app instruction and the fragment at cache address `at`.
fn code(vm: &Vm, at: u64) {
    if let Some(spot) = translate::spot(vm, at) {
        let bytes = bytes(spot.pc);
        tell(
            vm,
            format_args!("instruction {}: {bytes}", name(vm, spot.pc)),
        );
    }
    tell(vm, format_args!("code at {at:#x}, {}", origin(vm, at)));
}

/// Describes the fragment that holds `at`, and where it came from.
fn origin(vm: &Vm, at: u64) -> String {
    if let Some(fresh) = vm.code().fragment_at(at) {
        let (head, count, context) = (
            name(vm, fresh.pc()),
            fresh.code().instructions,
            fresh.context().0,
        );
        return alloc::format!(
            "fragment of {head}, {count} instructions, context {context}, made by this run"
        );
    }
    match vm.code().unit_at(at) {
        Some((image, unit)) => alloc::format!(
            "fragment of {}, from unit {}",
            vm.code().maps_at(at).map_or_else(
                || vm.code().images().get(image).path().into(),
                |maps| name(vm, maps.head)
            ),
            unit.name().file_name()
        ),
        None => String::from("retired"),
    }
}

fn bytes(pc: AppPc) -> String {
    let mut bytes = [0; 15];
    let len = peek::read(pc.0, &mut bytes);
    let mut text = String::new();
    for byte in &bytes[..len] {
        let _ = write!(text, "{byte:02x} ");
    }
    text
}

/// The command line that repeats this run, quoted for a shell.
fn command(vm: &Vm) -> String {
    let config = &vm.config();
    let mut text = String::from("ppin run");
    for tool in &config.tools {
        let _ = write!(text, " -t {}", quoted(&tool.name));
    }
    for (n, tool) in config.tools.iter().enumerate() {
        for knob in &tool.knobs {
            let _ = match config.tools.len() {
                1 => write!(text, " --knob {}", quoted(knob)),
                _ => write!(
                    text,
                    " --knob {}",
                    quoted(&alloc::format!("{}:{knob}", n + 1))
                ),
            };
        }
    }
    if config.wanted != Optimize::ALL {
        let _ = write!(text, " --optimize={}", config.wanted);
    }
    match config.cache_mode {
        CacheMode::Off => text.push_str(" --cache off"),
        _ => drop(write!(text, " --db {}", quoted(&config.db))),
    }
    if config.flags & flag::SAMPLE != 0 {
        text.push_str(" --check=sample");
        if config.check_every != 0 {
            let _ = write!(text, ":{}", config.check_every);
        }
    }
    text.push_str(" --");
    let file = file::File::open("/proc/self/cmdline", c::O_RDONLY, 0);
    let args = file.and_then(|f| f.read_all(COMMAND)).unwrap_or_default();
    for arg in String::from_utf8_lossy(&args).split_terminator('\0') {
        text.push(' ');
        text.push_str(&quoted(arg));
    }
    text
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return String::from(word);
    }
    alloc::format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use ppin_plugin::Chosen;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a-b_c./:=+,@%9"), "a-b_c./:=+,@%9");
        assert_eq!(
            [quoted(""), quoted("a b"), quoted("$x")],
            ["''", "'a b'", "'$x'"]
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn the_command_repeats_what_the_run_was_given() {
        let mut config = testing::config();
        let tool = |name: &str, knob: &str| Chosen {
            name: name.into(),
            knobs: alloc::vec![knob.into()],
            ..Chosen::default()
        };
        config.tools = alloc::vec![tool("bbcount", "by=a b")];
        (config.flags, config.check_every) = (flag::SAMPLE, 100);
        let said = |config| command(&testing::vm_of(config, testing::thread(0)));
        let text = said(config.clone());
        let start = "ppin run -t bbcount --knob 'by=a b' --cache off --check=sample:100 -- ";
        assert!(text.starts_with(start), "{text}");
        (config.cache_mode, config.db, config.flags) = (CacheMode::ReadWrite, "/d b".into(), 0);
        config.tools.push(tool("/x/a b.so", "a=1"));
        let text = said(config.clone());
        let start = "ppin run -t bbcount -t '/x/a b.so' --knob '1:by=a b' --knob 2:a=1 --db ";
        assert!(text.starts_with(start), "{text}");
        config.tools.clear();
        let text = said(config);
        assert!(text.starts_with("ppin run --db '/d b' -- "), "{text}");
    }
}
