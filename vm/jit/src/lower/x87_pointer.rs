//! The x87 instruction pointer in an image that the app has just stored.
//!
//! ```text
//! Target:  fnstenv [operand]
//! Becomes: fnstenv [operand]
//!          mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + record]          routine X87_POINTER: the field's address
//!          jmp gs:[Entry::Bridge]           and size
//!  resume:
//! ```

use super::bridge;
use super::site::Site;
use crate::api::{address_arg, plain_arg};
use crate::decode::x87::PointerField;
use crate::form::Form;
use iced_x86::InstructionInfoFactory;
use ppin_abi::record::{ArgKind, X87_POINTER};

/// Behind the instruction itself.
pub(super) fn lower(form: &mut Form, site: &Site<'_>, field: PointerField) {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&site.ins.raw);
    let address = info
        .used_memory()
        .first()
        .and_then(|used| address_arg(used, &site.ins.raw, site.image));
    let Some(address) = address else {
        return;
    };
    let constant = |value: u8| plain_arg(ArgKind::Const, u64::from(value));
    let args = [address, constant(field.offset), constant(field.width)];
    bridge::lower(form, site.id, X87_POINTER, &args);
}
