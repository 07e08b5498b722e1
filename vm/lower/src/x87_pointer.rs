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

use super::argument::call_arg;
use super::bridge;
use super::operand::address;
use super::site::Site;
use iced_x86::InstructionInfoFactory;
use ppin_abi::record::X87_POINTER;
use ppin_api::compiler::Value;
use ppin_decode::x87::PointerField;
use ppin_form::Form;

/// Behind the instruction itself.
pub(super) fn lower(form: &mut Form, site: &Site<'_>, field: PointerField) {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&site.ins.raw);
    let address = info
        .used_memory()
        .first()
        .and_then(|used| address(used, &site.ins.raw, site.image));
    let Some(address) = address else {
        return;
    };
    let constant = |value: u8| call_arg(Value::Const(u64::from(value)));
    let args = [
        call_arg(Value::Memory(address)),
        constant(field.offset),
        constant(field.width),
    ];
    bridge::lower(form, site.id, X87_POINTER, args.into_iter());
}
