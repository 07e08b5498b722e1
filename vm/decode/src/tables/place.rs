//! Where a table lies, as instructions of a trace say that come before.

use super::{changes, writer};
use crate::{Gpr, Ins, RegSet};
use iced_x86::{Instruction, Mnemonic, Register};
use ppin_abi::addr::AppPc;

/// Where a table lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Here.
    Known(AppPc),
    /// Where this register says, from the load to the jump.
    Held(Gpr),
}

/// Where a table lies, and the instruction that says so, if one does.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub place: Place,
    pub since: Option<usize>,
}

impl Base {
    /// Where the first entry lies of the table that `raw` reads behind `ins`.
    pub fn of_table(ins: &[Ins], raw: &Instruction) -> Option<Self> {
        let disp = raw.memory_displacement64();
        if raw.memory_base() == Register::None {
            let (place, since) = (Place::Known(AppPc(disp)), None);
            return Some(Self { place, since });
        }
        Self::of(ins, Gpr::holding(raw.memory_base())?).moved(disp)
    }

    /// What `register` has behind `ins`.
    pub fn of(ins: &[Ins], register: Gpr) -> Self {
        let at = writer(ins, RegSet::of(&[register]));
        let constant = at.and_then(|at| constant(&ins[at].raw, register));
        Self {
            place: constant.map_or(Place::Held(register), Place::Known),
            since: constant.and(at),
        }
    }

    /// So many bytes further.
    fn moved(self, disp: u64) -> Option<Self> {
        let place = match self.place {
            Place::Known(at) => Place::Known(AppPc(at.0.wrapping_add(disp))),
            // (The stack does not hold what never changes.)
            Place::Held(register) if disp == 0 && register != Gpr::RSP => self.place,
            Place::Held(_) => return None,
        };
        Some(Self { place, ..self })
    }

    /// Whether the instructions from the load on leave alone what says so.
    pub fn stays(self, ins: &[Ins]) -> bool {
        match self.place {
            Place::Known(_) => true,
            Place::Held(register) => !changes(ins, 0..ins.len(), register),
        }
    }
}

/// What `raw` makes `register`, if that is a constant.
fn constant(raw: &Instruction, register: Gpr) -> Option<AppPc> {
    let own = raw.mnemonic() == Mnemonic::Lea && raw.op0_register() == register.named();
    (own && raw.is_ip_rel_memory_operand()).then(|| AppPc(raw.ip_rel_memory_address()))
}
