//! Additions to counters.
//!
//! ```text
//! flags dead:  add qword gs:[counter], n
//! flags live:  t = gs:[counter]; t = t + n; gs:[counter] = t      by lea
//! ```
//! Saving flags would cost more than all of this. Counters of an image lie at a
//! distance that only the engine knows, in a slot: another temporary holds it.
//!
//! A block that counts for many of them, such as one for each opcode, makes one addition all the
//! same. Its *bundle* is a cell that says how often the block was entered, and the count rows say
//! how much that is for each counter (`ppin_codecache`, `bundles.rs`).

use super::merge::{Addition, Group};
use ppin_abi::counters::Cells;
use ppin_api::Counter;
use ppin_form::{Cell, Form, Gpr, Need, Op, RegSet, Temp, Width};
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
    let bundle = base.and_then(|_| form.bundle());
    if let Some(base) = base {
        let to = base.into();
        form.push(Op::LoadCounters { to, bundle });
    }
    if let Some(number) = bundle {
        let disp = 8 * i32::from(number);
        add(form, Cell { base, disp }, 1, value);
        let bundled = group.additions.iter().filter(|a| a.is_image());
        pay(
            form,
            bundled.flat_map(|a| rows(a, disp_of(a, group, cells))),
        );
    }
    for addition in &group.additions {
        if bundle.is_some() && addition.is_image() {
            continue;
        }
        let disp = disp_of(addition, group, cells);
        let base = base.filter(|_| addition.is_image());
        add(form, Cell { base, disp }, addition.total, value);
        pay(form, rows(addition, disp));
    }
}

/// Adds to `cell`, by way of `value` if flags are alive.
fn add(form: &mut Form, cell: Cell, amount: i32, value: Option<Temp>) {
    match value {
        None => form.push(Op::AddCell { cell, amount }),
        Some(value) => add_by(form, value, cell, amount),
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

/// Where the counter lies: from gs, or from the image's block of counters.
fn disp_of(addition: &Addition, group: &Group, cells: Cells) -> i32 {
    match addition.counter {
        Counter::Global(index) => cells.disp(index, group.colour) as i32,
        Counter::Image(index) => 8 * index as i32,
    }
}

/// What the addition pays for; its counter lies at `disp`.
fn rows(addition: &Addition, disp: i32) -> impl Iterator<Item = CountRow> {
    let image = addition.is_image();
    addition.parts().map(move |part| CountRow {
        done: 0,
        counter: disp.cast_unsigned(),
        image,
        app: part.app,
        amount: part.amount,
    })
}

/// Says what the operation before pays for, in the order of the code.
fn pay(form: &mut Form, rows: impl Iterator<Item = CountRow>) {
    let first = form.counts.len();
    if first == 0 {
        form.counts.reserve(ROOM);
    }
    form.counts.extend(rows);
    let rows = &mut form.counts[first..];
    rows.sort_unstable_by_key(|row| (row.app, row.counter, row.amount));
    let (first, len) = (first as u16, rows.len() as u16);
    form.push(Op::Counted { first, len });
}
