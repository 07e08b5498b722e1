//! Additions to counters.
//!
//! ```text
//! flags dead:  add qword gs:[counter], n
//! flags live:  mov gs:[Spill::Rcx], rcx
//!              mov rcx, gs:[counter]; lea rcx, [rcx + n]; mov gs:[counter], rcx
//!              mov rcx, gs:[Spill::Rcx]
//! ```
//! Saving flags would cost more than all of this. Counters of an image lie at a
//! distance that only the engine knows, in a slot: rcx holds it, and rdx counts.

use super::merge::{Addition, Group};
use crate::decode::Ins;
use crate::emit::{Asm, Emitter};
use dynasm::dynasm;
use ppin_abi::area::{Spill, counter_disp};
use ppin_api::Counter;
use ppin_relocator::CountRow;

pub(super) fn emit(emitter: &mut Emitter, group: &Group, ins: &Ins) {
    let images = group
        .additions
        .iter()
        .any(|addition| matches!(addition.counter, Counter::Image(_)));
    let rdx = images && !group.flags_dead;
    let rcx = images || !group.flags_dead;
    borrow(emitter, ins.offset, rcx, rdx);
    if images {
        emitter.load_image_counters();
    }
    for addition in &group.additions {
        match (group.flags_dead, rdx) {
            (true, _) => add(emitter, addition),
            (false, false) => add_by_rcx(emitter, addition),
            (false, true) => add_by_rdx(emitter, addition),
        }
        rows(emitter, addition);
    }
    give_back(emitter, ins.offset, rcx, rdx);
}

fn borrow(emitter: &mut Emitter, app: u32, rcx: bool, rdx: bool) {
    if rdx {
        emitter.save_rdx();
    }
    if rcx {
        emitter.save_rcx();
        emitter.row(app, spilled(rcx, rdx), 0);
    }
}

fn give_back(emitter: &mut Emitter, app: u32, rcx: bool, rdx: bool) {
    if rdx {
        emitter.unspill_rdx();
    }
    if rcx {
        emitter.unspill_rcx();
        emitter.row(app, 0, 0);
    }
}

fn spilled(rcx: bool, rdx: bool) -> u8 {
    let bit = |spill: Spill, is: bool| if is { spill.bit() } else { 0 };
    bit(Spill::Rcx, rcx) | bit(Spill::Rdx, rdx)
}

/// `add`, which destroys the flags; an image's counters are at `gs:[rcx + ...]`.
fn add(emitter: &mut Emitter, addition: &Addition) {
    let disp = disp(addition.counter);
    let n = addition.total;
    let hot = &mut emitter.hot;
    if let Ok(n) = i8::try_from(n) {
        return add_short(hot, addition.counter, disp, n);
    }
    match addition.counter {
        Counter::Global(_) => dynasm!(hot; .arch x64; gs add QWORD [DWORD disp], n),
        Counter::Image(_) => dynasm!(hot; .arch x64; gs add QWORD [DWORD rcx + disp], n),
    }
}

/// With an immediate of 8 bits, a form that `dynasm!` does not choose.
fn add_short(hot: &mut Asm, counter: Counter, disp: i32, n: i8) {
    const GS_REX_ADD: [u8; 3] = [0x65, 0x48, 0x83];
    hot.bytes(&GS_REX_ADD);
    match counter {
        Counter::Global(_) => hot.bytes(&[0x04, 0x25]),
        Counter::Image(_) => hot.bytes(&[0x81]),
    }
    hot.push_i32(disp);
    hot.push(n.cast_unsigned());
}

/// Only global counters come here.
fn add_by_rcx(emitter: &mut Emitter, addition: &Addition) {
    let disp = disp(addition.counter);
    let hot = &mut emitter.hot;
    dynasm!(hot; .arch x64; gs mov rcx, [DWORD disp]);
    match i8::try_from(addition.total) {
        Ok(n) => dynasm!(hot; .arch x64; lea rcx, [BYTE rcx + n]),
        Err(_) => dynasm!(hot; .arch x64; lea rcx, [DWORD rcx + addition.total]),
    }
    dynasm!(hot; .arch x64; gs mov [DWORD disp], rcx);
}

fn add_by_rdx(emitter: &mut Emitter, addition: &Addition) {
    let disp = disp(addition.counter);
    let hot = &mut emitter.hot;
    match addition.counter {
        Counter::Global(_) => dynasm!(hot; .arch x64; gs mov rdx, [DWORD disp]),
        Counter::Image(_) => dynasm!(hot; .arch x64; gs mov rdx, [DWORD rcx + disp]),
    }
    match i8::try_from(addition.total) {
        Ok(n) => dynasm!(hot; .arch x64; lea rdx, [BYTE rdx + n]),
        Err(_) => dynasm!(hot; .arch x64; lea rdx, [DWORD rdx + addition.total]),
    }
    match addition.counter {
        Counter::Global(_) => dynasm!(hot; .arch x64; gs mov [DWORD disp], rdx),
        Counter::Image(_) => dynasm!(hot; .arch x64; gs mov [DWORD rcx + disp], rdx),
    }
}

/// From gs, or from the image's block of counters.
fn disp(counter: Counter) -> i32 {
    match counter {
        Counter::Global(index) => counter_disp(index) as i32,
        Counter::Image(index) => 8 * index as i32,
    }
}

fn rows(emitter: &mut Emitter, addition: &Addition) {
    let done = emitter.hot.here();
    for &(app, amount) in &addition.parts {
        emitter.count(CountRow {
            done,
            counter: disp(addition.counter).cast_unsigned(),
            image: matches!(addition.counter, Counter::Image(_)),
            app,
            amount,
        });
    }
}
