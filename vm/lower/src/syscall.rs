//! System calls. The runtime makes the call with the app's registers in place.
//!
//! ```text
//! Target:  syscall
//! Becomes: lea rcx, [rip + record]          rcx and r11 are dead: the CPU overwrites them
//!          jmp gs:[Entry::Syscall]
//!  resume: mov rcx, [rip + slot]            the address that the CPU leaves there
//!          jmp exit                         to the next instruction
//! ```

use super::site::Site;
use ppin_abi::area::Entry;
use ppin_form::{Form, Gpr, Need, Op, Record, RegSet};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let (ins, context) = (site.id, form.exit_context());
    let dead = RegSet::of(&[Gpr::RCX]);
    let [record] = form.take([Need::fixed(Gpr::RCX).or_free(dead)]);
    form.record(record, Record::Syscall { ins });
    form.jump(Entry::Syscall);
    form.gone(&[record]);
    let to = Gpr::RCX.into();
    form.push(Op::LoadNext { to, ins });
    form.push(Op::ExitNext { ins, context });
}
