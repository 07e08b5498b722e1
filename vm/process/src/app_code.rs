//! Finds the executable memory of the app, and registers it with the code cache.

use crate::counters;
use crate::first_code;
use crate::vm::{self, Vm};
use ppin_abi::addr::AppPc;
use ppin_images::{ImageId, Region};
use ppin_os::file::{self, Stat};
use ppin_os::maps::MapEntry;

/// Registers executable memory and names the image that it belongs to. `doubtful`: the mapping may
/// be any piece of its file, not the first.
pub fn add(vm: &mut Vm, entry: &MapEntry, file: Option<Stat>, doubtful: bool) -> ImageId {
    let before = vm.code().images().len();
    let named = vm
        .code_mut()
        .images_mut()
        .name(entry, file.as_ref(), doubtful);
    let id = vm.code_mut().images_mut().add(entry, file, named);
    if vm.code().images().len() != before {
        give_counters(vm, id);
        vm.log_image(id);
    }
    id
}

/// The image of code outside every region: one of its page.
pub fn nowhere(vm: &mut Vm, pc: AppPc) -> ImageId {
    let before = vm.code().images().len();
    let id = vm.code_mut().images_mut().nowhere(pc);
    if vm.code().images().len() != before {
        give_counters(vm, id);
    }
    id
}

fn give_counters(vm: &mut Vm, id: ImageId) {
    let counters = counters::block(vm, id);
    vm.code_mut().images_mut().set_counters(id, counters);
}

/// The region of `pc`. An unknown address is looked up in the kernel's list: memory can become
/// executable in ways that no system call has shown to the VM.
pub fn region(vm: &mut Vm, pc: AppPc) -> Option<Region> {
    if let Some(region) = vm.code().images().region(pc) {
        return Some(region);
    }
    let maps = ppin_os::maps::read().ok()?;
    let entry = maps
        .iter()
        .find(|m| (m.start..m.end).contains(&pc.0) && m.executable)?;
    add_from_list(vm, entry, true);
    vm.code().images().region(pc)
}

/// Registers all memory that is executable when the app starts; the arguments are those of
/// [`first_code::of`].
pub fn add_all(vm: &mut Vm, stack: u64, program: [u64; 2]) {
    if let Some(all) = first_code::of(stack, program) {
        for (entry, file) in all {
            add(vm, &entry, file, false);
        }
        return;
    }
    for entry in ppin_os::maps::read().unwrap_or_default() {
        if entry.executable && !vm::is_runtime(entry.start) && entry.path != "[vsyscall]" {
            add_from_list(vm, &entry, false);
        }
    }
}

fn add_from_list(vm: &mut Vm, entry: &MapEntry, doubtful: bool) {
    // Without an inode the path is a name such as `[vdso]`, not one of a file.
    let stat = (entry.inode != 0).then(|| file::stat_of(&entry.path).ok());
    let stat = stat.flatten().filter(|stat| stat.ino == entry.inode);
    add(vm, entry, stat, doubtful);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use ppin_os::{mem, peek, place};

    #[test]
    fn memory_that_became_executable_unseen_is_found_in_the_kernels_list() {
        peek::never_fault();
        let mut vm = testing::vm();
        let code = place::anywhere(mem::PAGE, mem::RWX).expect("there is memory");
        let data = place::anywhere(mem::PAGE, mem::RW).expect("there is memory");
        assert!(vm.code().images().region(AppPc(code)).is_none());
        let found = region(&mut vm, AppPc(code + 8)).expect("it is executable");
        assert!((found.start..found.end).contains(&code) && found.writable);
        assert!(region(&mut vm, AppPc(data)).is_none());
        let images = vm.code().images().len();
        assert_eq!(
            region(&mut vm, AppPc(code)).map(|r| r.image),
            Some(found.image)
        );
        assert_eq!(vm.code().images().len(), images, "it is known now");
    }
}
