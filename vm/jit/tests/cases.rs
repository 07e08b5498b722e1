//! What is proved of the index of a jump by a table, is so: random code from random states, run on this CPU.

mod common;

use common::machine::{CODE, Machine};
use ppin_abi::addr::AppPc;
use ppin_decode::{Ins, InsReader, tables};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::{Cell, RefCell};

/// What may come before the jump. Branches lead behind the code.
const PIECES: [&[u8]; 22] = [
    &[0x0f, 0xb6, 0xf8],       // movzx edi, al
    &[0x0f, 0xb6, 0xfc],       // movzx edi, ah
    &[0x0f, 0xb7, 0xf8],       // movzx edi, ax
    &[0x48, 0x0f, 0xb6, 0xf9], // movzx rdi, cl
    &[0x83, 0xe7, 0x1f],       // and edi, 31
    &[0x48, 0x83, 0xe7, 0xf0], // and rdi, -16
    &[0x66, 0x83, 0xe7, 0x0f], // and di, 15
    &[0x83, 0xff, 0x1e],       // cmp edi, 30
    &[0x48, 0x83, 0xff, 0x1e], // cmp rdi, 30
    &[0x66, 0x83, 0xff, 0x1e], // cmp di, 30
    &[0x40, 0x80, 0xff, 0xb5], // cmp dil, 181
    &[0x3c, 0xb5],             // cmp al, 181
    &[0x83, 0xf8, 0x1e],       // cmp eax, 30
    &[0x0f, 0x87, 0, 1, 0, 0], // ja
    &[0x0f, 0x83, 0, 1, 0, 0], // jae
    &[0x0f, 0x86, 0, 1, 0, 0], // jbe
    &[0x89, 0xc7],             // mov edi, eax
    &[0x89, 0xff],             // mov edi, edi
    &[0x48, 0x89, 0xc7],       // mov rdi, rax
    &[0x0f, 0x44, 0xf8],       // cmove edi, eax
    &[0x83, 0xef, 0x05],       // sub edi, 5
    &[0x40, 0xb7, 0x77],       // mov dil, 0x77
];

/// `lea rdx, [rip + 0x100]; movsxd rax, [rdx + rdi*4]; add rax, rdx; jmp rax`
const JUMP: [u8; 16] = [
    0x48, 0x8d, 0x15, 0, 1, 0, 0, 0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0,
];
const RDI: usize = 7;

fn read(bytes: &[u8]) -> Vec<Ins> {
    let mut reader = InsReader::new(AppPc(0x1000), bytes);
    std::iter::from_fn(|| reader.read().ok()).collect()
}

#[test]
fn an_index_that_is_proved_to_be_small_is() {
    let machine = RefCell::new(Machine::new(false));
    let (proved, reached) = (Cell::new(0), Cell::new(0));
    let pieces = proptest::collection::vec(0..PIECES.len(), 1..7);
    let value = prop_oneof![
        0..40_u64,
        0..300_u64,
        any::<u64>(),
        any::<u32>().prop_map(u64::from)
    ];
    let input = (pieces, proptest::array::uniform16(value), any::<u64>());
    let config = Config::with_cases(20_000);
    let test = |(pieces, values, flags): (Vec<usize>, [u64; 16], u64)| {
        let before: Vec<u8> = pieces.iter().flat_map(|at| PIECES[*at]).copied().collect();
        let Some(found) = tables::of(&read(&[before.as_slice(), &JUMP].concat())) else {
            return Ok(());
        };
        proved.set(proved.get() + 1);
        let mut machine = machine.borrow_mut();
        let state = machine.state(values, flags);
        let end = machine.native(&before, &state);
        // (What follows is int3.)
        let behind = machine.app() + CODE + before.len() as u64;
        if [behind, behind + 1].contains(&end.pc) {
            reached.set(reached.get() + 1);
            prop_assert!(end.state.regs[RDI] < u64::from(found.count), "{before:x?}");
        }
        Ok(())
    };
    TestRunner::new(config).run(&input, test).unwrap();
    assert!(
        proved.get() > 1000 && reached.get() > 500,
        "{proved:?} {reached:?}"
    );
}
