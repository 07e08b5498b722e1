//! Names of app addresses, for messages.

use crate::vm::Vm;
use alloc::string::String;
use ppin_abi::addr::AppPc;

/// `pc` with its image and its offset in that, if known.
#[must_use]
pub fn name(vm: &Vm, pc: AppPc) -> String {
    let region = vm.code().images.region(pc);
    match region.map(|region| vm.code().images.get(region.image)) {
        Some(image) if !image.path.is_empty() => {
            alloc::format!(
                "{pc} ({}+{:#x})",
                image.path,
                pc.0.wrapping_sub(image.base.0)
            )
        }
        _ => alloc::format!("{pc}"),
    }
}
