//! Stores that cannot meet the source of the trace that makes them, if one register is far enough from it.
//!
//! Code that compares its source would have to do so again behind each store. But most stores of a trace go
//! to the stack, or to one structure: by a base that the trace leaves alone, and constants. So whether any of
//! them meets the source is known when the trace is entered, by one comparison.

use core::ops::Range;
use iced_x86::{Instruction, InstructionInfoFactory};
use ppin_decode::touched::Touched;
use ppin_decode::{Gpr, Ins, RegSet, based};

/// Registers that cannot be the base: the comparison needs them.
const TAKEN: RegSet = RegSet::of(&[Gpr::RAX, Gpr::RCX]);
/// Farther from the base nothing is looked at.
const FARTHEST: i32 = 1 << 16;

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Apart {
    /// What the stores go by. It counts as it is on entry.
    pub base: Gpr,
    /// The bytes that they reach, from the base.
    pub reach: Range<i32>,
    /// Bits of the instructions whose stores these are.
    pub stores: u64,
}

impl Apart {
    /// That of the trace `ins` by which most of its stores go; `stores` are the bits of those that count.
    pub fn of(ins: &[Ins], stores: u64, factory: &mut InstructionInfoFactory) -> Option<Self> {
        let mut all: [Option<Self>; 16] = [const { None }; 16];
        let mut bases = Bases::default();
        let up_to_the_last = (u64::BITS - stores.leading_zeros()) as usize;
        for (index, ins) in ins.iter().enumerate().take(up_to_the_last) {
            if stores & 1 << index != 0
                && let Some((base, reach)) = bases.reached(&ins.raw, factory)
            {
                let apart = &mut all[usize::from(base.number())];
                apart
                    .get_or_insert_with(|| Self::by(base, &reach))
                    .add(index, &reach);
            }
            bases.go_on(ins, factory);
        }
        // (Of several with as many stores, the first.)
        let most = |best: Self, next: Self| {
            if next.count() > best.count() {
                next
            } else {
                best
            }
        };
        all.into_iter().flatten().reduce(most)
    }

    fn by(base: Gpr, reach: &Range<i32>) -> Self {
        Self {
            base,
            reach: reach.clone(),
            stores: 0,
        }
    }

    fn add(&mut self, index: usize, reach: &Range<i32>) {
        self.reach.start = self.reach.start.min(reach.start);
        self.reach.end = self.reach.end.max(reach.end);
        self.stores |= 1 << index;
    }

    fn count(&self) -> u32 {
        self.stores.count_ones()
    }
}

/// What has become of registers since the trace was entered.
#[derive(Default)]
struct Bases {
    /// They have other values, but for the stack pointer.
    changed: RegSet,
    /// By how much the stack pointer has been moved.
    stack: i32,
}

impl Bases {
    /// The base by which `raw` stores, and the bytes that it reaches from there, as the base was on entry.
    fn reached(
        &self,
        raw: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Option<(Gpr, Range<i32>)> {
        let store = based::store(raw, factory)?;
        let base = store.base;
        if self.changed.or(TAKEN).contains(base) {
            return None;
        }
        let moved = if base == Gpr::RSP { self.stack } else { 0 };
        let start = store.disp.checked_add(moved)?;
        let end = start.checked_add_unsigned(store.len)?;
        (-FARTHEST <= start && end <= FARTHEST).then_some((base, start..end))
    }

    fn go_on(&mut self, ins: &Ins, factory: &mut InstructionInfoFactory) {
        let changed = Touched::of(ins, factory).changed;
        let stack = RegSet::of(&[Gpr::RSP]);
        let moved = based::stack_moves(&ins.raw).and_then(|by| self.stack.checked_add(by));
        match moved.filter(|_| changed.contains(Gpr::RSP)) {
            Some(moved) => {
                self.stack = moved;
                self.changed = self.changed.or(changed.minus(stack));
            }
            None => self.changed = self.changed.or(changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use ppin_abi::addr::AppPc;
    use ppin_decode::{InsReader, effects};

    fn of(code: &[&[u8]]) -> Option<(u8, Range<i32>, u64)> {
        let bytes = code.concat();
        let mut reader = InsReader::new(AppPc(0x1000), &bytes);
        let ins: Vec<Ins> = code.iter().map(|_| reader.read().unwrap()).collect();
        let factory = &mut InstructionInfoFactory::new();
        let mut writes = |ins: &Ins| u64::from(effects::writes_memory(&ins.raw, factory));
        let stores = ins
            .iter()
            .enumerate()
            .map(|(n, ins)| writes(ins) << n)
            .sum();
        Apart::of(&ins, stores, factory).map(|it| (it.base.number(), it.reach, it.stores))
    }

    const STORE: &[u8] = &[0x89, 0x45, 0x10]; // mov [rbp + 16], eax
    const STORE_FARTHER: &[u8] = &[0x48, 0x89, 0x45, 0xf0]; // mov [rbp - 16], rax
    const STORE_BY_RBX: &[u8] = &[0x89, 0x03]; // mov [rbx], eax
    const STORE_BY_RCX: &[u8] = &[0x89, 0x01]; // mov [rcx], eax
    const LOAD: &[u8] = &[0x8b, 0x45, 0x10]; // mov eax, [rbp + 16]
    const NOP: &[u8] = &[0x90];
    const PUSH: &[u8] = &[0x50]; // push rax

    #[test]
    fn the_base_of_most_stores_is_looked_at() {
        let code = [STORE_BY_RBX, STORE, STORE_FARTHER, NOP];
        assert_eq!(of(&code), Some((5, -16..20, 0b110)));
        assert_eq!(of(&[STORE_BY_RBX, STORE, NOP]), Some((3, 0..4, 0b1)));
    }

    #[test]
    fn without_stores_there_is_none() {
        assert_eq!(of(&[LOAD, NOP]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_base_counts_only_as_it_was_on_entry() {
        let other: &[u8] = &[0x48, 0x89, 0xc5]; // mov rbp, rax
        assert_eq!(
            of(&[STORE, other, STORE_FARTHER, NOP]),
            Some((5, 16..20, 0b1))
        );
        assert_eq!(of(&[other, STORE, NOP]), None);
        assert_eq!(of(&[STORE_BY_RCX, NOP]), None);
    }

    #[test]
    fn the_stack_pointer_may_move() {
        let sub: &[u8] = &[0x48, 0x83, 0xec, 32]; // sub rsp, 32
        let store: &[u8] = &[0x89, 0x04, 0x24]; // mov [rsp], eax
        let align: &[u8] = &[0x48, 0x83, 0xe4, 0xf0]; // and rsp, -16
        assert_eq!(of(&[PUSH, sub, store, NOP]), Some((4, -40..0, 0b101)));
        assert_eq!(of(&[PUSH, align, store, NOP]), Some((4, -8..0, 0b1)));
    }

    #[test]
    fn what_is_far_is_left_out() {
        let far: &[u8] = &[0x89, 0x85, 0, 0, 1, 0]; // mov [rbp + 0x10000], eax
        assert_eq!(of(&[far, NOP]), None);
    }
}
