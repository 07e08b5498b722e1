//! What the VM has to raise or to explain.
//!
//! ```text
//! Target:  anything
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + record]
//!          jmp gs:[Entry::LeaveTrap]
//! ```

use ppin_abi::addr::AppPc;
use ppin_abi::area::Entry;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_form::{Form, Gpr, Need, Record, Temp};

/// The trap of the instruction at `pc`; what speaks to the runtime.
pub fn lower(form: &mut Form, pc: AppPc, trap: Trap, context: Context) -> Temp {
    let [record] = form.take([Need::fixed(Gpr::RCX)]);
    form.record(record, Record::Trap { pc, trap, context });
    form.jump(Entry::LeaveTrap);
    record
}
