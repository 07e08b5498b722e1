//! What the CPU has answered to `cpuid` in earlier programs: the database keeps it until the machine
//! boots again ([`ppin_persist::cpuid`]).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_abi::boot::BootHeader;
use ppin_abi::cpuid::Answer;
use ppin_abi::optimize::Optimize;
use ppin_codecache::unit::Library;
use ppin_os::c;
use ppin_os::file::File;
use ppin_persist::cpuid::{self, BOOT_LEN, Machine};
use ppin_persist::paths::CPUID;
use ppin_process::config::{self, Config};
use ppin_process::cpuid as table;
use ppin_process::vm::Vm;

/// Takes over what the program that executed this one knew.
pub(crate) fn inherit(config: &Config, boot: &BootHeader) {
    if config.optimize.has(Optimize::CPUID) {
        let known: Vec<_> = Answer::read_all(config::bytes(boot, boot.answers)).collect();
        table::recall(&known);
    }
}

/// For a program that this one executes.
#[must_use]
pub(crate) fn bequeath() -> Vec<u8> {
    table::known().iter().flat_map(Answer::bytes).collect()
}

/// Takes the answers of earlier programs over, if none are known: when this one asks for the first
/// time. Many small programs never do.
pub(crate) fn recall(vm: &mut Vm) {
    let config = vm.config();
    if !config.optimize.has(Optimize::CPUID) || !config.reads() || !table::is_empty() {
        return;
    }
    let (_, library) = vm.code_and_library();
    let Some((then, known)) = read(library) else {
        return;
    };
    if machine() == Some(then) {
        table::recall(&known);
    }
}

/// Whether this program has asked for more than others have, and that may be written.
pub(crate) fn are_new(vm: &Vm) -> bool {
    vm.library().may_save() && table::has_learnt()
}

/// Writes what is known down, if it is new.
pub(crate) fn note(vm: &mut Vm) {
    if !are_new(vm) {
        return;
    }
    let (code, library) = vm.code_and_library();
    if let Err(reason) = write(library) {
        code.note(alloc::format!("{CPUID}: {reason}"));
    }
    table::settle();
}

fn write(library: &mut Library) -> Result<(), String> {
    let Some(machine) = machine() else {
        return Ok(());
    };
    let dir = library.make_own_folder("")?;
    let bytes = cpuid::encode(&machine, &table::known());
    dir.publish(CPUID, &bytes).map_err(|e| e.to_string())
}

fn read(library: &mut Library) -> Option<(Machine, Vec<Answer>)> {
    let (file, _) = library.own_folder("")?.open_file(CPUID).ok()?;
    cpuid::decode(&file.read_all(cpuid::MAX_FILE).ok()?)
}

/// The processor, and when it was started; `None` where the kernel does not tell.
fn machine() -> Option<Machine> {
    const BOOT: &str = "/proc/sys/kernel/random/boot_id";
    let file = File::open(BOOT, c::O_RDONLY, 0).ok()?;
    let boot = file.read_all(BOOT_LEN).ok()?.try_into().ok()?;
    let version = table::version();
    Some(Machine { boot, version })
}
