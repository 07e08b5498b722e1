//! The `/proc` files that the program has opened, and the text that it reads from them.

use crate::proc_files::{describes_us, subject};
use crate::sizes::Sizes;
use crate::status::{self, Signals};
use crate::{limits, mappings, numa, part, query, rollup};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_os::descriptor::{self, path_of};
use ppin_os::file::{self, File};
use ppin_os::lock::Mutex;
use ppin_os::{Errno, Result, c, map_query, raw};
use ppin_process::gate::table;
use ppin_process::ours::{self, Range};
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Vm};

/// A `/proc` file that the app has opened.
struct Opened {
    fd: i32,
    /// Path of the file in `/proc`.
    path: String,
    /// Inode of the file that the descriptor refers to, to notice when the app replaces it.
    inode: u64,
}

static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// Upper bound of the length of a text.
const MOST: usize = 64 << 20;
/// Whether `path` has the name of a file that this crate rewrites.
#[must_use]
pub fn has_known_name(path: &[u8]) -> bool {
    const NAMES: [&[u8]; 8] = [
        b"maps",
        b"smaps",
        b"smaps_rollup",
        b"numa_maps",
        b"status",
        b"stat",
        b"statm",
        b"limits",
    ];
    let name = path.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| NAMES.contains(&name))
}

/// The app has opened `fd`, whose file has such a name. If the file describes this process, the VM
/// handles reads from now on.
pub fn opened(fd: i32) {
    let path = path_of(fd);
    if let Ok(inode) = inode(fd)
        && describes_us(&path)
        && descriptor::is_of_proc(fd)
    {
        let mut lists = OPENED.lock();
        lists.retain(|list| list.fd != fd);
        lists.push(Opened { fd, path, inode });
        table::watch_reads(true);
    }
}

fn inode(fd: i32) -> Result<u64> {
    file::stat_fd(fd).map(|stat| stat.ino)
}

/// The app is about to read from `fd` at `position` (`None`: at the file position). A file that
/// cannot be replaced (because of limits or filters) is read unchanged.
pub fn before_read(fd: i32, position: Option<u64>) {
    let mut lists = OPENED.lock();
    let Some(n) = lists.iter().position(|list| list.fd == fd) else {
        return;
    };
    let list = &mut lists[n];
    let going_on = if inode(fd) != Ok(list.inode) {
        false
    } else if position.map_or_else(|| descriptor::position(fd), Ok) != Ok(0) {
        true
    } else {
        renew(list).is_ok()
    };
    if !going_on {
        lists.swap_remove(n);
        table::watch_reads(!lists.is_empty());
    }
}

/// Makes the descriptor refer to a fresh copy of the text.
fn renew(list: &mut Opened) -> Result<()> {
    let copy = native(&list.path, read(&list.path)?);
    if !file::may_write(copy.len()) {
        return Err(Errno::EFBIG);
    }
    let memory = descriptor::in_memory(c"maps")?;
    memory.write_all(&copy)?;
    // Opened again, the copy is read-only and at its start.
    let path = format!("/proc/self/fd/{}", memory.fd());
    let reading = File::open(&path, c::O_RDONLY, 0)?;
    descriptor::replace(list.fd, &reading)?;
    list.inode = inode(list.fd)?;
    Ok(())
}

const SMAPS: &str = "/proc/self/smaps";
const MAPS: &str = "/proc/self/maps";

/// Answers an ioctl(2) of the app on a list of mappings; `None`: the call is to be made as it is.
pub fn ask(fd: i32, request: u32, at: u64) -> Option<isize> {
    if request != map_query::NUMBER {
        return None;
    }
    let path = opened_maps(fd)?;
    let list = File::open(&path, c::O_RDONLY, 0).ok()?;
    let args = [list.fd() as usize, request as usize, at as usize, 0, 0, 0];
    // SAFETY: the app's own query, on another descriptor of the same file.
    let ask = || unsafe { raw(c::__NR_ioctl, args) };
    let Some(question) = query::question(at) else {
        return Some(ask());
    };
    let shown = native(&path, read(&path).ok()?);
    Some(match query::find(&shown, question) {
        Some(found) => query::answer(at, question, found, ask),
        None => query::nothing(at, question, ask),
    })
}

/// Path of the list of mappings that `fd` refers to, if it is one.
fn opened_maps(fd: i32) -> Option<String> {
    let lists = OPENED.lock();
    let list = lists.iter().find(|list| list.fd == fd)?;
    let is = list.path.ends_with("/maps") && inode(fd) == Ok(list.inode);
    is.then(|| list.path.clone())
}

fn read(path: &str) -> Result<Vec<u8>> {
    File::open(path, c::O_RDONLY, 0)?.read_all(MOST)
}

fn native(path: &str, text: Vec<u8>) -> Vec<u8> {
    // (A forked child has its parent's descriptors.)
    let of_us = describes_us(path);
    let vm = vm::lock();
    let name = path.rsplit('/').next().unwrap_or_default();
    let hidden: Vec<_> = match of_us {
        true => ours::all(&vm).collect(),
        false => ours::of_parent(&vm).collect(),
    };
    let list = |text: &[u8]| mappings::native(text, &hidden, &vm.code().guards().pages());
    if matches!(name, "maps" | "smaps") {
        return list(&text);
    }
    // The text may hold a name that is not UTF-8.
    let text = match String::from_utf8(text) {
        Ok(text) => text,
        Err(other) => return other.into_bytes(),
    };
    let ours = || sizes(&vm, &hidden);
    let signals = || subject(path).and_then(|tid| signals(&vm, tid));
    let shown = match name {
        "status" => status::status(&text, signals().as_ref(), &ours()),
        "stat" => status::stat(&text, signals().as_ref(), &ours()),
        "statm" => status::statm(&text, &ours()),
        "smaps_rollup" => rollup::native(&text, &read(SMAPS).unwrap_or_default(), &hidden),
        "numa_maps" => numa::native(&text, &list(&read(MAPS).unwrap_or_default())),
        _ => limits::native(&text, &ppin_os::limits::shown()),
    };
    shown.into_bytes()
}

/// Sizes of what is `hidden`.
fn sizes(vm: &Vm, hidden: &[Range]) -> Sizes {
    let parts = part::asked(hidden)
        .unwrap_or_else(|_| part::listed(&read(SMAPS).unwrap_or_default(), hidden));
    Sizes::of(&parts, vm.code().guards().pages().len())
}

fn signals(vm: &Vm, tid: i32) -> Option<Signals> {
    let mut threads = vm.threads().all();
    let thread = threads.find(|thread: &&Thread| thread.tid == tid)?;
    let process = thread.process();
    let [ignored, caught] = process.actions.ignored_and_caught();
    Some(Signals {
        blocked: thread.signals.mask,
        ignored,
        caught,
        unasked: process.actions.unasked(),
        held: thread.signals.held.set(),
        held_for_all: process.held.set(),
    })
}
