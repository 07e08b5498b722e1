//! Additions to counters.
//!
//! ```text
//! flags dead:  add qword gs:[counter], n
//! flags live:  t = gs:[counter]; t = t + n; gs:[counter] = t      by lea
//! ```
//! Saving flags would cost more than all of this. Counters of an image lie at a
//! distance that only the engine knows, in a slot: another temporary holds it.

use super::merge::{Addition, Group};
use crate::form::{Cell, Form, Gpr, Need, Op, RegSet, Temp, Width};
use ppin_abi::counters::Cells;
use ppin_api::Counter;
use ppin_relocator::CountRow;

/// For so many parts of additions there is room at once.
const ROOM: usize = 16;

/// The additions of `group`. Registers in `looked_at` are kept even if the group says that they
/// need not be.
///
/// Else those are borrowed that compiled code uses least: where memory behind `gs` is not renamed,
/// the app waits for a register that comes back, but only if it needs it soon.
pub(super) fn lower(form: &mut Form, group: &Group, cells: Cells, looked_at: RegSet) {
    let free = group.free.minus(looked_at);
    // An abort handler knows where few registers lie.
    let borrowed = if form.sequence.is_some() {
        RegSet::ANY
    } else {
        RegSet::of(&[Gpr::R11, Gpr::R10])
    };
    let any = Need::one_of(borrowed.or(free)).or_free(free);
    match (
        group.additions.iter().any(Addition::is_image),
        group.flags_dead,
    ) {
        (false, true) => add_all(form, group, cells, None, None),
        (false, false) => {
            let [value] = form.take([any]);
            add_all(form, group, cells, None, Some(value));
            form.give(&[value]);
        }
        (true, true) => {
            let [base] = form.take([any]);
            add_all(form, group, cells, Some(base), None);
            form.give(&[base]);
        }
        (true, false) => {
            let [base, value] = form.take([any; 2]);
            add_all(form, group, cells, Some(base), Some(value));
            form.give(&[base, value]);
        }
    }
}

/// All additions of `group`; `base` is for where counters of the image are, and `value` for
/// adding without flags.
fn add_all(form: &mut Form, group: &Group, cells: Cells, base: Option<Temp>, value: Option<Temp>) {
    if let Some(base) = base {
        form.push(Op::LoadCounters { to: base.into() });
    }
    for addition in &group.additions {
        let disp = disp(addition.counter, cells, group.colour);
        let base = base.filter(|_| addition.is_image());
        let (cell, amount) = (Cell { base, disp }, addition.total);
        match value {
            None => form.push(Op::AddCell { cell, amount }),
            Some(value) => add_by(form, value, cell, amount),
        }
        pay(form, addition, disp);
    }
}

fn add_by(form: &mut Form, value: Temp, cell: Cell, amount: i32) {
    let (to, from, width) = (value.into(), value.into(), Width::W64);
    form.push(Op::LoadCell { to, cell, width });
    form.push(Op::Lea {
        to,
        base: to,
        index: None,
        disp: amount,
    });
    form.push(Op::StoreCell { cell, from, width });
}

/// From gs, or from the image's block of counters.
fn disp(counter: Counter, cells: Cells, colour: u32) -> i32 {
    match counter {
        Counter::Global(index) => cells.disp(index, colour) as i32,
        Counter::Image(index) => 8 * index as i32,
    }
}

/// Says what the addition pays for, in the order of the code.
fn pay(form: &mut Form, addition: &Addition, disp: i32) {
    let first = form.counts.len();
    if first == 0 {
        form.counts.reserve(ROOM);
    }
    let image = addition.is_image();
    let counter = disp.cast_unsigned();
    form.counts.extend(addition.parts().map(|part| CountRow {
        done: 0,
        counter,
        image,
        app: part.app,
        amount: part.amount,
    }));
    let rows = &mut form.counts[first..];
    rows.sort_unstable_by_key(|row| (row.app, row.amount));
    let (first, len) = (first as u16, rows.len() as u16);
    form.push(Op::Counted { first, len });
}
