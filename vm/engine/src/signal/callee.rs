//! Calls whose own word below the stack cannot be written to.
//!
//! A direct call of the app pushes the app's return address, and then, as a `call` of the CPU, that of the
//! cache below it (`ppin_lower`'s `paired.rs`). A native call writes the first word only, so there
//! may be no memory for the second: a guard page, or one that cannot be written to. The app's
//! call has been made then, and goes on without the second word: its return is looked up.

use super::deliver;
use super::redirect::redirect;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::peek;
use ppin_process::thread::Thread;
use ppin_process::translate::{self, Spot};
use ppin_process::vm;

/// `push qword ptr [rip + disp32]`, up to the displacement.
const PUSH_SLOT: [u8; 2] = [0xff, 0x35];
/// Bytes of that instruction.
const PUSH_LEN: u64 = 6;

/// Lets the app's call go on, if the thread stands at one that could not write to `info`'s address.
pub(crate) fn go_on_without(
    thread: &mut Thread,
    info: &SigInfo,
    context: &mut UContext,
    pc: u64,
) -> bool {
    let below = context.gregs[greg::RSP].wrapping_sub(8);
    if info.rest[0].wrapping_sub(below) >= 8 || !is_call(pc) {
        return false;
    }
    let Some((spot, target)) = callee(pc) else {
        return false;
    };
    deliver::put_right(thread, context, &spot);
    redirect(thread, context, target, Context::CANONICAL);
    true
}

/// Whether there is a `call rel32` at cache address `pc`, behind what pushes the app's return address.
fn is_call(pc: u64) -> bool {
    const CALL: u8 = 0xe8;
    const PADDING: u8 = 0x2e;
    let code = peek::read_value::<[u8; 4]>(pc).unwrap_or_default();
    let pushed = peek::read_value::<[u8; 2]>(pc.wrapping_sub(PUSH_LEN));
    code.iter().find(|byte| **byte != PADDING) == Some(&CALL) && pushed == Some(PUSH_SLOT)
}

/// The state behind the app's call at cache address `pc`, and where it leads. (A push of the app's own may
/// come before a call, too; but then an app instruction begins at `pc`.)
fn callee(pc: u64) -> Option<(Spot, AppPc)> {
    let spot = translate::spot(&vm::lock(), pc).filter(|spot| !spot.boundary)?;
    let field = spot.pc.0.wrapping_sub(4);
    let distance = i32::from_le_bytes(peek::read_value(field)?);
    let target = spot.pc.wrapping_add(i64::from(distance) as u64);
    Some((spot, target))
}
