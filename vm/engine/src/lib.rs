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
//! touched; memory of the app is read and written through [`sys::peek`]; nothing is
//! placed where the kernel would put the app's mappings ([`cache::place`]).
#![no_std]
extern crate alloc;

pub mod boot;
pub mod budget;
pub mod cache;
pub mod config;
pub mod confine;
pub mod diagnosis;
mod dispatch;
mod end;
mod follow;
pub mod glue;
mod holdings;
pub mod ibl;
pub mod image;
mod install;
mod leave;
mod listing;
pub mod lock;
mod lockstep;
pub mod log;
mod obstacle;
mod outlet;
mod report;
pub mod restore;
pub mod rseq;
mod sample;
mod served;
pub mod signal;
mod spool;
pub mod stats;
mod store;
pub mod sys;
mod syscall;
pub mod thread;
mod tools;
mod vm;
mod x87;

use image::maps::MapEntry;
use image::{ImageId, Region};
use ppin_abi::addr::AppPc;
use sys::file::{File, Stat};
use vm::Vm;

unsafe extern "Rust" {
    /// Runs the function while no thread is inside the heap, whose lock it gets; the runtime
    /// defines it.
    safe fn ppin_heap_at_rest(run: &mut dyn FnMut(&lock::Word));

    /// Whether the heap has `len` bytes in one piece, or may grow by them.
    safe fn ppin_heap_lasts(len: usize) -> bool;

    /// Begins a new heap: what lies in the old one stays as it is, freed or not.
    safe fn ppin_heap_anew();
}

/// Runs `f` while no thread is inside the heap, whose lock it gets.
fn heap_at_rest<T>(f: impl FnOnce(&lock::Word) -> T) -> T {
    let mut f = Some(f);
    let mut result = None;
    ppin_heap_at_rest(&mut |heap| result = f.take().map(|f| f(heap)));
    result.expect("the runtime runs the function once")
}

/// Registers executable memory and tells the tool of new images. `doubtful`: it may be any
/// piece of its file.
fn image_add(vm: &mut Vm, entry: &MapEntry, file: Option<Stat>, doubtful: bool) -> ImageId {
    let before = vm.images.all.len();
    let named = vm.images.name(entry, file.as_ref(), doubtful);
    let id = vm.images.add(entry, file, named);
    if vm.images.all.len() != before {
        let counters = tools::counters::block(id, vm.tool.image_counters());
        vm.images.get_mut(id).counters = counters;
        let (path, base) = (&entry.path, vm.images.get(id).base);
        vm.log(format_args!("image {path} at {:#x}", base.0));
    }
    id
}

/// The region of `pc`. An address that we have not met is looked for in the kernel's
/// list: memory can become executable in ways that no call of ours showed.
fn image_region(vm: &mut Vm, pc: AppPc) -> Option<Region> {
    if let Some(region) = vm.images.region(pc) {
        return Some(region);
    }
    let maps = image::maps::read().ok()?;
    let entry = maps
        .iter()
        .find(|m| (m.start..m.end).contains(&pc.0) && m.executable)?;
    add_from_list(vm, entry, true);
    vm.images.region(pc)
}

/// Learns what is executable when the app starts.
fn learn_mappings(vm: &mut Vm) {
    for entry in image::maps::read().unwrap_or_default() {
        if entry.executable && !vm::is_runtime(entry.start) && entry.path != "[vsyscall]" {
            add_from_list(vm, &entry, false);
        }
    }
}

fn add_from_list(vm: &mut Vm, entry: &MapEntry, doubtful: bool) {
    let file = File::open(&entry.path, sys::c::O_RDONLY | sys::c::O_NONBLOCK, 0);
    let stat = file
        .and_then(|f| f.stat())
        .ok()
        .filter(|s| entry.inode != 0 && s.ino == entry.inode);
    image_add(vm, entry, stat, doubtful);
}

/// The heap of unit tests, which is the host's and needs no care.
#[cfg(test)]
mod heap_of_tests {
    #[unsafe(no_mangle)]
    fn ppin_heap_at_rest(run: &mut dyn FnMut(&crate::lock::Word)) {
        run(&crate::lock::Word::new());
    }

    #[unsafe(no_mangle)]
    fn ppin_heap_lasts(_: usize) -> bool {
        true
    }

    #[unsafe(no_mangle)]
    fn ppin_heap_anew() {}
}
