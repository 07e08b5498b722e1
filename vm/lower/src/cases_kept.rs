//! Jumps by a table ([`super::cases`]) that go by the index itself, not by the address of a slot that was found before.
//!
//! A register may have the table's address from before the trace ([`ppin_decode::tables`]), as in loops of interpreters. It
//! is compared with the table that the jump has been seen to go by; if it is that one, the index finds a slot. Where the
//! index is overwritten before the jump, a cell keeps it.
//!
//! ```text
//! Target:  jmp [rdi + rdx * 8]              the index is in rdx
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, [rip + slot]            minus the table
//!          lea rcx, [rcx + rdi + 1]         1 if it is the same
//!          loop behind                      or `jrcxz`: see super::meant
//!          mov rcx, [rip + slot + 8]        where the slots are for its entries
//!          jmp [rcx + rdx * 8]              behind this, until the case is known
//! behind:  ...                              as in super::cases
//!
//! Target:  movsxd rcx, [rdi + rcx * 4]      the index is overwritten, or in rcx
//!          add rcx, rdi
//!          jmp rcx
//! Becomes: mov gs:[CASES_INDEX], rcx
//!          movsxd rcx, [rdi + rcx * 4]
//!          add rcx, rdi
//!          mov gs:[Spill::Rcx], rcx
//!          mov gs:[Spill::Rax], rax
//!          mov rax, gs:[CASES_INDEX]
//!          ...                              the same
//!          jmp [rcx + rax * 8]
//! ```
//! The slots for entries are made when the VM is asked for one, for most jumps are made seldom (`ppin_indirect::Held`). Until
//! then what is compared makes 0 with no address of the app's. Both slots of the trace are written to once, the second
//! first, so who has found the first one right finds the second one.
//!
//! The table may be known, and no register be left untouched for the address of a slot: then the slots are the trace's, and
//! only the cell keeps the index.

use super::cases::{Unknown, take};
use super::predicted;
use super::site::Site;
use ppin_abi::area::CASES_INDEX;
use ppin_decode::tables::Place;
use ppin_form::{By, CaseJump, Cell, Form, Gpr, Label, Op, Reg, Temp, Width};

const INDEX: Cell = Cell::at(CASES_INDEX as i32);

/// Keeps the index, which will be overwritten, for the jump.
pub(super) fn keep(form: &mut Form, jump: CaseJump) {
    form.push(Op::StoreCell {
        cell: INDEX,
        from: jump.index.into(),
        width: Width::W64,
    });
}

/// The jump of `site` itself.
pub(super) fn jump(form: &mut Form, site: &Site<'_>, jump: CaseJump) {
    let slots = take(form, Gpr::RCX);
    let rax = (jump.by == By::Cell).then(|| kept(form));
    let index = rax.map_or(jump.index.into(), Reg::from);
    let unknown = Unknown::new(site.id, slots, rax);
    let behind = form.label();
    match jump.table {
        Place::Known(_) => form.push(Op::LeaCases { to: slots.into() }),
        Place::Held(base) => load(form, &unknown, base, behind),
    }
    form.push(Op::JumpByIndex { slots, index });
    form.place(behind, unknown.live());
    unknown.go_on(form);
}

/// Loads where the slots are, or goes `behind`, if the table is not at `base`.
fn load(form: &mut Form, unknown: &Unknown, base: Gpr, behind: Label) {
    let slots = unknown.rcx;
    form.push(Op::LoadTable { to: slots.into() });
    predicted::compare(form, slots, base.into(), behind, unknown.live());
    form.push(Op::LoadCases { to: slots.into() });
}

/// The index that was kept, in rax.
fn kept(form: &mut Form) -> Temp {
    let index = take(form, Gpr::RAX);
    form.push(Op::LoadCell {
        to: index.into(),
        cell: INDEX,
        width: Width::W64,
    });
    index
}
