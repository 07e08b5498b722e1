//! Jumps by a table that does not change ([`ppin_decode::tables`]): the fragment has a slot for each of its entries,
//! which the same index finds. It says where that case goes on, so nothing is compared and the table is not looked at.
//!
//! ```text
//! Target:  jmp rax                          the index is in rdi yet
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + slots]
//!          lea rcx, [rcx + rdi * 8]
//!          jmp [rcx]                        behind this, until the case is known
//!          mov rcx, gs:[CASES_COUNTDOWN]
//!          jrcxz ask
//!          lea rcx, [rcx - 1]
//!          mov gs:[CASES_COUNTDOWN], rcx
//!          mov rcx, gs:[Spill::Rcx]
//!          mov rcx, rax
//!          ...                              as any other jump (super::near)
//! ask:     mov gs:[CASES_COUNTDOWN], PERIOD
//!          mov gs:[PREDICTION_COUNTDOWN], 0
//!          mov rcx, gs:[Spill::Rcx]
//!          mov rcx, rax
//!          mov gs:[Spill::Rax], rax
//!          mov eax, what                    for the VM (`ppin_abi::predicted`)
//!          mov rax, [rip + slots - 8]       the app address of the table
//!          lea rax, [rip + 0]               who asks
//!          jmp gs:[Entry::Mispredicted]
//!
//! Target:  movsxd rdi, [rdx + rdi * 4]      the index is overwritten, and rcx is not touched
//!          add rdi, rdx
//!          jmp rdi
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + slots]
//!          lea rcx, [rcx + rdi * 8]
//!          movsxd rdi, [rdx + rdi * 4]
//!          add rdi, rdx
//!          jmp [rcx]
//!          ...                              the same
//! ```
//! Where rcx is the index, or is touched, the same is done by rax, and rcx is put away before the jump. The jump goes to
//! what puts rcx back, or both, before a fragment's entry ([`super::arrive`]). On AMD processors, each line of 64
//! bytes that a thread comes over, and each cycle until it is known where a jump goes, makes the next jumps harder to
//! predict: this is a third of the bytes of a lookup ([`super::near`]) and of where that arrives.

use super::site::Site;
use super::{cases_kept, near};
use ppin_abi::area::{CASES_COUNTDOWN, Entry, PREDICTION_COUNTDOWN};
use ppin_form::{By, CaseJump, Cell, Form, Gpr, InsId, Label, Need, Op, Temp, Width};

const COUNTDOWN: Cell = Cell::at(CASES_COUNTDOWN as i32);

/// So many jumps that come to cases that are not known are between two of which the VM is asked.
const PERIOD: i32 = 1 << 10;

/// Before the instruction `ins` itself: where the slot is, if this is the place for that.
pub fn before(form: &mut Form, ins: InsId) {
    let Some(jump) = form.cases.filter(|jump| jump.at == ins) else {
        return;
    };
    match jump.by {
        By::Slot(by) => find(form, jump, by),
        By::Cell => cases_kept::keep(form, jump),
        By::Index => {}
    }
}

/// Finds the slot.
fn find(form: &mut Form, jump: CaseJump, by: Gpr) {
    let slot = take(form, by);
    form.push(Op::LeaCases { to: slot.into() });
    form.push(Op::Address {
        to: slot.into(),
        base: Some(slot.into()),
        index: Some(jump.index.into()),
        scale: 3,
        narrow: false,
        disp: 0,
    });
    let slot = Some(slot);
    form.cases = Some(CaseJump { slot, ..jump });
}

/// The jump of `site` itself.
pub(super) fn jump(form: &mut Form, site: &Site<'_>, jump: CaseJump) {
    let Some(slot) = jump.slot else {
        return cases_kept::jump(form, site, jump);
    };
    // (Where it arrives, both come back.)
    let other = (jump.by != By::Slot(Gpr::RCX)).then(|| take(form, Gpr::RCX));
    form.push(Op::JumpCases { slot });
    let (rcx, rax) = (other.unwrap_or(slot), other.map(|_| slot));
    Unknown::new(site.id, rcx, rax).go_on(form);
}

/// A case that is not known.
pub(super) struct Unknown {
    ins: InsId,
    /// See [`Self::new`].
    pub rcx: Temp,
    rax: Option<Temp>,
    taken: [Temp; 2],
}

impl Unknown {
    /// At the jump `ins`; what has rcx, and rax, if anything has.
    pub(super) fn new(ins: InsId, rcx: Temp, rax: Option<Temp>) -> Self {
        let mut taken = [rax.unwrap_or(rcx), rcx];
        taken.sort_unstable();
        Self {
            ins,
            rcx,
            rax,
            taken,
        }
    }

    /// Looks up where the app goes.
    pub(super) fn go_on(self, form: &mut Form) {
        let ask = form.label();
        self.count(form, ask);
        let target = self.target(form);
        near::jump(form, target, self.rax, Entry::IblJmp);
        form.place(ask, self.live());
        self.ask(form);
    }

    /// What has been taken, one after the other.
    pub(super) fn live(&self) -> &[Temp] {
        &self.taken[..1 + usize::from(self.rax.is_some())]
    }

    /// Every so many times it asks the VM.
    fn count(&self, form: &mut Form, ask: Label) {
        let (temp, cell, width) = (self.rcx, COUNTDOWN, Width::W64);
        let (to, from) = (temp.into(), temp.into());
        form.push(Op::LoadCell { to, cell, width });
        form.push(Op::IfZero { temp, to: ask });
        form.push(Op::Lea {
            to,
            base: to,
            index: None,
            disp: -1,
        });
        form.push(Op::StoreCell { cell, from, width });
    }

    /// Where the app goes, in rcx.
    fn target(&self, form: &mut Form) -> Temp {
        form.push(Op::Refill { temp: self.rcx });
        if let Some(temp) = self.rax {
            form.push(Op::Refill { temp });
        }
        near::target(form, self.rcx, self.ins);
        self.rcx
    }

    fn ask(&self, form: &mut Form) {
        let at_once = Cell::at(PREDICTION_COUNTDOWN as i32);
        for (cell, value) in [(COUNTDOWN, PERIOD), (at_once, 0)] {
            let width = Width::W64;
            form.push(Op::SetCell { cell, value, width });
        }
        self.target(form);
        let asks = self.rax.unwrap_or_else(|| take(form, Gpr::RAX));
        form.push(Op::NameCases { to: asks.into() });
        form.push(Op::Here { to: asks.into() });
        form.jump(Entry::Mispredicted);
    }
}

pub(super) fn take(form: &mut Form, register: Gpr) -> Temp {
    let [temp] = form.take([Need::fixed(register)]);
    temp
}
