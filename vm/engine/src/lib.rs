//! The virtual machine that runs inside the app.
//!
//! ```text
//! boot        from the injector to the app's first instruction
//! dispatch    why the VM was entered, where to go on
//! glue/       assembly between cache and VM; indirect-branch lookup; the system gate
//! budget      how much memory is ours
//! cache/      memory for fresh code, directory, links, flushing, invalidation
//! install     the one door into the cache for fresh code
//! restore/    persisted units: find, map, admit
//! spool/      freezing into unit files
//! store/      folders and files of the databases, as far as they may be trusted
//! image/      what the app has mapped executable
//! syscall/    calls that the VM must know of, by family
//! signal/     delivery, faults, translation of cache addresses
//! rseq/       restartable sequences
//! thread/     per-thread state, clone, exit
//! confine/    under the app's own filters of system calls
//! follow      taking the runtime along over an exec; obstacle: why not
//! leave/      a process that is traced, or wants our addresses, goes on by itself
//! holdings    which addresses are ours
//! listing/    what the app reads of its own mappings
//! lockstep    telling a tracer where the app is (`run --check`)
//! sample/     comparing with the processor now and then (`run --check=sample`)
//! outlet      where reports, statistics and the log go, and if they cannot
//! tools/      the engine's side of the tool API: the process as a tool sees it, calls, counters
//! sys/        raw system calls
//! ```
//!
//! # Safety
//! Everything here shares an address space with a program that knows nothing of it.
//! Three rules keep them apart: no libc and no thread-local storage of the app's is
//! touched; memory of the app is read and written through [`ppin_os::peek`]; nothing is
//! placed where the kernel would put the app's mappings ([`cache::place`]).
#![no_std]
extern crate alloc;

pub mod boot;
pub mod config;
pub mod confine;
pub mod diagnosis;
mod dispatch;
mod end;
mod follow;
pub mod glue;
mod holdings;
mod install;
mod invalidate;
mod leave;
mod listing;
mod lockstep;
pub mod log;
mod obstacle;
mod outlet;
pub mod rseq;
mod sample;
pub mod signal;
mod spool;
pub mod stats;
mod syscall;
pub mod thread;
mod tools;
mod vm;
mod x87;

use ppin_abi::addr::AppPc;
use ppin_codecache::image::{ImageId, Region};
use ppin_os::file::{File, Stat};
use ppin_os::maps::MapEntry;
use vm::Vm;

/// Registers executable memory and tells the tool of new images. `doubtful`: it may be any
/// piece of its file.
fn image_add(vm: &mut Vm, entry: &MapEntry, file: Option<Stat>, doubtful: bool) -> ImageId {
    let before = vm.code.images.all.len();
    let named = vm.code.images.name(entry, file.as_ref(), doubtful);
    let id = vm.code.images.add(entry, file, named);
    if vm.code.images.all.len() != before {
        let counters = tools::counters::block(id, vm.tool.image_counters());
        vm.code.images.get_mut(id).counters = counters;
        let (path, base) = (&entry.path, vm.code.images.get(id).base);
        vm.log(format_args!("image {path} at {:#x}", base.0));
    }
    id
}

/// The region of `pc`. An address that we have not met is looked for in the kernel's
/// list: memory can become executable in ways that no call of ours showed.
fn image_region(vm: &mut Vm, pc: AppPc) -> Option<Region> {
    if let Some(region) = vm.code.images.region(pc) {
        return Some(region);
    }
    let maps = ppin_os::maps::read().ok()?;
    let entry = maps
        .iter()
        .find(|m| (m.start..m.end).contains(&pc.0) && m.executable)?;
    add_from_list(vm, entry, true);
    vm.code.images.region(pc)
}

/// Learns what is executable when the app starts.
fn learn_mappings(vm: &mut Vm) {
    for entry in ppin_os::maps::read().unwrap_or_default() {
        if entry.executable && !vm::is_runtime(entry.start) && entry.path != "[vsyscall]" {
            add_from_list(vm, &entry, false);
        }
    }
}

fn add_from_list(vm: &mut Vm, entry: &MapEntry, doubtful: bool) {
    let file = File::open(
        &entry.path,
        ppin_os::c::O_RDONLY | ppin_os::c::O_NONBLOCK,
        0,
    );
    let stat = file
        .and_then(|f| f.stat())
        .ok()
        .filter(|s| entry.inode != 0 && s.ino == entry.inode);
    image_add(vm, entry, stat, doubtful);
}
