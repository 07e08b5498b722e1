//! Names of app addresses, for messages.

use crate::vm::Vm;
use alloc::string::String;
use ppin_abi::addr::AppPc;

/// `pc` with its image and its offset in that, if known.
#[must_use]
pub fn name(vm: &Vm, pc: AppPc) -> String {
    let region = vm.code().images().region(pc);
    match region.map(|region| vm.code().images().get(region.image)) {
        Some(image) if !image.path().is_empty() => {
            alloc::format!(
                "{pc} ({}+{:#x})",
                image.path(),
                pc.0.wrapping_sub(image.base.0)
            )
        }
        _ => alloc::format!("{pc}"),
    }
}

#[cfg(test)]
mod tests {
    use super::name;
    use crate::{app_code, testing};
    use ppin_abi::addr::AppPc;
    use ppin_os::maps::MapEntry;

    #[test]
    fn an_address_is_named_by_its_image() {
        let mut vm = testing::vm();
        let entry = MapEntry {
            start: 0x1230_0000,
            end: 0x1230_4000,
            path: "/lib/x.so".into(),
            executable: true,
            ..MapEntry::default()
        };
        app_code::add(&mut vm, &entry, None, false);
        let base = vm
            .code()
            .images()
            .region(AppPc(entry.start))
            .expect("added");
        let base = vm.code().images().get(base.image).base.0;
        let text = name(&vm, AppPc(entry.start + 0x10));
        let offset = entry.start + 0x10 - base;
        assert_eq!(
            text,
            alloc::format!("{} (/lib/x.so+{offset:#x})", AppPc(0x1230_0010))
        );
        assert_eq!(name(&vm, AppPc(0x77)), alloc::format!("{}", AppPc(0x77)));
    }
}
