//! Storing what a routine has returned to the app's memory.
//!
//! ```text
//!          mov gs:[slot], a ...             registers
//!          lea a, [...]                     the address
//!          mov v, gs:[Calls::RESULT]
//!          mov [a], v                       1, 2, 4 or 8 bytes; may fault
//!          mov a, gs:[slot] ...
//! ```

use super::routine;
use ppin_abi::area::Calls;
use ppin_api::compiler::Value;
use ppin_form::{Form, Gpr, Need, Op, RegSet};

/// Stores the low `bytes` of what the routine that was called last has returned, at `address`. All of
/// the app's values are in place.
pub fn lower(form: &mut Form, address: Value, bytes: u8) {
    let named = routine::sources(&[address]).with(Gpr::RSP);
    let any = Need::one_of(RegSet::ANY.minus(named));
    let [at, value] = form.take([any; 2]);
    routine::one(form, at, address, RegSet::NONE, Some(value));
    routine::load(form, value.into(), Calls::RESULT);
    let (base, from) = (at.into(), value.into());
    form.push(Op::StoreBytes { base, from, bytes });
    form.give(&[at, value]);
}
