//! Where translated code enters the plain analysis routines of the tool: the routine itself, if it
//! destroys nothing but its arguments and returns nothing, else a thunk ([`ppin_lift::thunk`]) in memory of its own.

use alloc::vec::Vec;
use ppin_abi::area::{Calls, MAX_ROUTINES};
use ppin_api::Tool;
use ppin_lift::{Effects, Survey, thunk};
use ppin_os::{mem, place};

/// The entry of each routine, for the thread area.
///
/// # Errors
/// No memory for the thunks.
pub fn entries(tool: &dyn Tool) -> ppin_os::Result<[u64; MAX_ROUTINES]> {
    let mut entries = [0; MAX_ROUTINES];
    let mut survey = tool.code().map(Survey::new);
    let mut thunks: Vec<u8> = Vec::new();
    let mut in_thunks = Vec::new();
    let routines = tool.routines().iter();
    for (n, routine) in routines.enumerate().take(MAX_ROUTINES) {
        let Some(function) = routine.plain() else {
            continue;
        };
        let address = function.address() as u64;
        let effects = match &mut survey {
            Some(survey) => survey.effects(address),
            None => Effects::ALL,
        };
        entries[n] = address;
        let arguments = function.parameters().as_slice().len();
        let result = (function.outcome(), Calls::RESULT);
        if let Some(code) = thunk(effects, arguments, result, address) {
            in_thunks.push((n, thunks.len()));
            thunks.extend(code);
            thunks.resize(thunks.len().next_multiple_of(16), 0xcc);
        }
    }
    if !thunks.is_empty() {
        let start = executable(&thunks)?;
        for (n, offset) in in_thunks {
            entries[n] = start + offset as u64;
        }
    }
    Ok(entries)
}

/// Address of a copy of `code` that can be executed.
fn executable(code: &[u8]) -> ppin_os::Result<u64> {
    let len = mem::page_up(code.len() as u64);
    let start = place::anywhere(len, mem::RW)?;
    // SAFETY: fresh memory, long enough.
    unsafe {
        core::ptr::copy_nonoverlapping(code.as_ptr(), start as *mut u8, code.len());
        mem::protect(start, len, mem::RX)?;
    }
    Ok(start)
}
