//! Registers for temporaries.
//!
//! One pass over the form. Where temporaries are taken, each gets a register: one that need
//! not be kept, if it has any such, else the first in [`ORDER`] whose app value is kept in a
//! spill slot meanwhile. Nothing is chosen by chance, so the same form gets the same registers.
//!
//! [`check`] proves an allocation right; it is asked for each one in builds with debug
//! assertions, which all tests are.

pub mod check;
mod keep;
#[cfg(test)]
mod tests;

pub use keep::allocate_keeping;

use crate::uses::app_registers;
use crate::{Few, Form, Gpr, Living, Need, Op, RegSet, Temp, Temps};
use keep::Kept;
use ppin_abi::spills::{SPILL_SLOTS, Spill, SpillSlot};

/// Where a temporary lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Home {
    /// Its register.
    pub register: Gpr,
    /// Where the app's value of that register is kept; `None`: nowhere, nobody needs it.
    pub kept: Option<SpillSlot>,
}

const NOWHERE: Home = Home {
    register: Gpr::RCX,
    kept: None,
};

/// The homes of all temporaries of a form.
#[derive(Clone, Debug)]
pub struct Allocation(Few<Home>);

impl Allocation {
    /// Where `temp` lives.
    #[inline]
    pub fn home(&self, temp: Temp) -> Home {
        self.0.at(temp.0)
    }

    /// The register of `temp`.
    #[inline]
    pub fn register(&self, temp: Temp) -> Gpr {
        self.home(temp).register
    }
}

/// Registers in the order in which they are chosen. Those with a spill slot of their own come
/// first, rcx and rdx before all: short encodings, and rules want them anyway. Compiled code uses
/// r11 less than r10.
const ORDER: [u8; 15] = [1, 2, 3, 6, 7, 0, 8, 9, 11, 10, 12, 13, 14, 15, 5];

/// By register: the slot that is its home, if it has one.
const HOMES: [Option<SpillSlot>; 16] = {
    let mut homes = [None; 16];
    let mut at = 0;
    while at < Spill::ALL.len() {
        let home = Spill::ALL[at];
        homes[home.register() as usize] = Some(home.slot());
        at += 1;
    }
    homes
};

/// Gives a register to each temporary of `form`.
///
/// # Panics
/// More temporaries are alive somewhere than there are registers and spill slots: a mistake
/// in the compiler.
pub fn allocate(form: &Form) -> Allocation {
    let mut allocator = Allocator::new(form);
    if form.needs.is_empty() {
        return Allocation(allocator.homes);
    }
    for (at, op) in form.ops.iter().enumerate() {
        allocator.op(at, op);
    }
    Allocation(allocator.homes)
}

/// Registers that temporaries should get, if they can.
#[derive(Clone, Copy, Default)]
struct Wishes([Option<(Temp, Gpr)>; 2]);

impl Wishes {
    fn add(&mut self, temp: Temp, register: Gpr) {
        if let Some(wish) = self.0.iter_mut().find(|wish| wish.is_none()) {
            *wish = Some((temp, register));
        }
    }

    fn of(&self, temp: Temp) -> Option<Gpr> {
        let mut all = self.0.into_iter().flatten();
        all.find(|wish| wish.0 == temp).map(|wish| wish.1)
    }

    fn registers(&self) -> RegSet {
        self.0.iter().flatten().map(|wish| wish.1).collect()
    }
}

struct Allocator<'a> {
    form: &'a Form,
    homes: Few<Home>,
    /// Registers of living temporaries.
    taken: RegSet,
    /// Slots in use, a bit for each.
    slots: u8,
    /// Registers that stay with inserted code.
    kept: Kept,
    /// For the temporaries that are taken next.
    wishes: Wishes,
}

impl<'a> Allocator<'a> {
    fn new(form: &'a Form) -> Self {
        let mut homes = Few::new(NOWHERE);
        for _ in 0..form.needs.len() {
            homes.push(NOWHERE);
        }
        Self {
            form,
            homes,
            taken: RegSet::NONE,
            slots: 0,
            kept: Kept::default(),
            wishes: Wishes::default(),
        }
    }

    fn op(&mut self, at: usize, op: &Op) {
        match *op {
            Op::Take { temps } | Op::Returned { temps } | Op::Arrived { temps, .. } => {
                assert!(self.take(at, temps), "no register for a temporary");
            }
            Op::Give { temps }
            | Op::GiveByZero { temps, .. }
            | Op::Gone { temps }
            | Op::JumpAgain { temps } => self.release(temps),
            Op::Keep { temps } => {
                self.release(temps);
                self.keep(temps);
            }
            Op::Lost { register } => {
                self.kept.remove(register);
            }
            Op::Label { live, .. } => self.arrive(live),
            _ => {}
        }
    }

    /// What is in use.
    fn state(&self) -> (RegSet, u8, Kept) {
        (self.taken, self.slots, self.kept)
    }

    fn set_state(&mut self, (taken, slots, kept): (RegSet, u8, Kept)) {
        (self.taken, self.slots, self.kept) = (taken, slots, kept);
    }

    /// Whether there is a register for each of `temps`, which are alive from operation `at` on.
    fn take(&mut self, at: usize, temps: Temps) -> bool {
        let mut named = None;
        for temp in temps.iter() {
            let need = self.form.needs.at(temp.0);
            let avoided = if need.one_of.is_single() {
                RegSet::NONE
            } else {
                let named = *named.get_or_insert_with(|| self.named(at, temps));
                named.or(self.wishes.registers())
            };
            let wished = self.wished(temp, need);
            let Some(home) = wished.or_else(|| self.choose(need, avoided)) else {
                return false;
            };
            self.homes.set(temp.0, home);
            self.kept.remove(home.register);
            self.occupy(home);
        }
        true
    }

    /// What `temp` should get, if it is there.
    fn wished(&self, temp: Temp, need: Need) -> Option<Home> {
        let register = self.wishes.of(temp)?;
        let open = need.one_of.minus(self.taken).and(self.kept.registers);
        let kept = self.kept.slot(register);
        open.contains(register).then_some(Home { register, kept })
    }

    fn choose(&self, need: Need, avoided: RegSet) -> Option<Home> {
        let open = need.one_of.minus(self.taken).minus(avoided);
        let staying = if need.or_kept {
            self.kept.registers.minus(self.taken).minus(avoided)
        } else {
            open.and(self.kept.registers)
        };
        if let Some(register) = first(staying) {
            let kept = self.kept.slot(register);
            return Some(Home { register, kept });
        }
        // An abort handler may look at any register.
        let anywhere = self.form.sequence.is_none();
        if let Some(register) = first(open.and(need.free)).filter(|_| anywhere) {
            let kept = None;
            return Some(Home { register, kept });
        }
        let mut candidates = open;
        while let Some(register) = first(candidates) {
            let kept = self.slot_for(register);
            if kept.is_some() {
                return Some(Home { register, kept });
            }
            candidates = candidates.minus(RegSet::NONE.with(register));
        }
        None
    }

    /// The register's own slot, else the last that nobody has. In a restartable sequence its
    /// own one only: the thread area names no others to the abort handler.
    fn slot_for(&self, register: Gpr) -> Option<SpillSlot> {
        let own = HOMES[usize::from(register.number())];
        let unused =
            |slot: &SpillSlot| self.slots & 1 << slot.number() == 0 && !self.kept.has(*slot);
        if own.is_some_and(|slot| unused(&slot)) || self.form.sequence.is_some() {
            return own.filter(unused);
        }
        let mut slots = (0..SPILL_SLOTS).rev().filter_map(SpillSlot::new);
        slots.find(unused)
    }

    /// Registers that operations behind `at` name, or must have, while `temps` live.
    fn named(&self, at: usize, temps: Temps) -> RegSet {
        let mut named = RegSet::NONE;
        for op in &self.form.ops[at + 1..] {
            match *op {
                Op::Give { temps: ended } | Op::Gone { temps: ended } if ended == temps => break,
                Op::Take { temps: inner } => {
                    let needs = inner.iter().map(|temp| self.form.needs.at(temp.0));
                    let fixed = needs.filter(|need| need.one_of.is_single());
                    named = fixed.fold(named, |set, need| set.or(need.one_of));
                }
                _ => named = named.or(app_registers(op)),
            }
        }
        named
    }

    fn occupy(&mut self, home: Home) {
        self.taken = self.taken.with(home.register);
        self.slots |= bit(home.kept);
    }

    fn release(&mut self, temps: Temps) {
        for temp in temps.iter() {
            let home = self.homes.at(temp.0);
            self.taken = self.taken.minus(RegSet::NONE.with(home.register));
            self.slots &= !bit(home.kept);
        }
    }

    /// The app's values of the registers of `temps` stay in their slots.
    fn keep(&mut self, temps: Temps) {
        for temp in temps.iter() {
            let home = self.homes.at(temp.0);
            if let Some(slot) = home.kept {
                self.kept.add(home.register, slot);
            }
        }
    }

    /// What lives behind a label is what its branches bring.
    fn arrive(&mut self, live: Living) {
        self.taken = RegSet::NONE;
        self.slots = 0;
        for temp in live.iter() {
            self.occupy(self.homes.at(temp.0));
        }
    }
}

fn bit(slot: Option<SpillSlot>) -> u8 {
    slot.map_or(0, |slot| 1 << slot.number())
}

/// The first register of `set` in [`ORDER`].
fn first(set: RegSet) -> Option<Gpr> {
    if set == RegSet::NONE {
        return None;
    }
    let mut order = ORDER.iter().map(|number| Gpr::new(*number));
    order.find(|register| set.contains(*register))
}
