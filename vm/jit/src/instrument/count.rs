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
//! how much that is for each counter (`ppin_codecache`, `bundles.rs`). The instruction itself names the
//! cell, which the engine chooses when it places the code: no register and no slot stands between.

use super::merge::{Addition, Group};
use ppin_abi::counters::Cells;
use ppin_api::Counter;
use ppin_form::{Cell, Form, Gpr, Need, Op, RegSet, Temp, Width};
use ppin_relocator::CountRow;

/// For so many parts of additions there is room at once.
const ROOM: usize = 16;

/// Registers that compiled code uses least.
const BORROWED: RegSet = RegSet::of(&[Gpr::R11, Gpr::R10]);

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
        BORROWED
    };
    let any = Need::one_of(borrowed.or(free)).or_free(free).or_kept();
    let image = group.additions.iter().any(Addition::is_image);
    let bundle = if image { form.bundle() } else { None };
    let base = image && bundle.is_none();
    let adding = |base, value| Adding {
        cells,
        bundle,
        base,
        value,
    };
    match (base, group.flags_dead) {
        (false, true) => adding(None, None).all(form, group),
        (false, false) => {
            let [value] = form.take([any]);
            adding(None, Some(value)).all(form, group);
            form.give(&[value]);
        }
        (true, true) => {
            let [base] = form.take([any]);
            adding(Some(base), None).all(form, group);
            form.give(&[base]);
        }
        (true, false) => {
            let [base, value] = form.take([any; 2]);
            adding(Some(base), Some(value)).all(form, group);
            form.give(&[base, value]);
        }
    }
}

/// By what additions are made.
#[derive(Clone, Copy)]
struct Adding {
    cells: Cells,
    /// The bundle of all that is added for the image.
    bundle: Option<u16>,
    /// For where counters of the image are.
    base: Option<Temp>,
    /// For adding without flags.
    value: Option<Temp>,
}

impl Adding {
    fn all(self, form: &mut Form, group: &Group) {
        if let Some(base) = self.base {
            form.push(Op::LoadCounters { to: base.into() });
        }
        if let Some(bundle) = self.bundle {
            form.push(match self.value {
                None => Op::AddBundle { bundle },
                Some(by) => Op::AddBundleBy { bundle, by },
            });
            let bundled = group.additions.iter().filter(|a| a.is_image());
            pay(form, bundled.flat_map(|a| rows(a, self.disp(a, group))));
        }
        for addition in &group.additions {
            if self.bundle.is_none() || !addition.is_image() {
                self.one(form, addition, group);
            }
        }
    }

    fn one(self, form: &mut Form, addition: &Addition, group: &Group) {
        let disp = self.disp(addition, group);
        let base = self.base.filter(|_| addition.is_image());
        let (cell, amount) = (Cell { base, disp }, addition.total);
        match self.value {
            None => form.push(Op::AddCell { cell, amount }),
            Some(value) => add_by(form, value, cell, amount),
        }
        pay(form, rows(addition, disp));
    }

    /// Where the counter lies: from gs, or from the image's block of counters.
    fn disp(self, addition: &Addition, group: &Group) -> i32 {
        match addition.counter {
            Counter::Global(index) => self.cells.disp(index, group.colour) as i32,
            Counter::Image(index) => 8 * index as i32,
        }
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

/// What the addition pays for; its counter lies at `disp`.
fn rows(addition: &Addition, disp: i32) -> impl Iterator<Item = CountRow> {
    let image = addition.is_image();
    // (What is added aside has run: only who multiplies cells out must know of it.)
    let parts = addition
        .parts()
        .filter(move |part| image || part.app != CountRow::ASIDE);
    parts.map(move |part| CountRow {
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
