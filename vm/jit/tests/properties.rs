//! What holds for every fragment, whatever the bytes.

mod common;

use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_abi::spills::{Spill, SpillSet};
use ppin_jit::{BytesEnd, MAX_TRACE_BYTES, Request, compile};
use ppin_relocator::{
    CountRow, Fragment, PcRow, Placement, RelocKind, Section, Shape, SlotInit, apply, executed_at,
    pc_flag,
};
use proptest::prelude::*;
use std::collections::HashSet;

/// Bytes that are often instructions: prefixes, opcodes that matter, the rest.
fn code() -> impl Strategy<Value = Vec<u8>> {
    let interesting: &[&[u8]] = &[
        &[0x66],
        &[0x67],
        &[0x64],
        &[0x65],
        &[0xf0],
        &[0xf2],
        &[0xf3],
        &[0x48],
        &[0x4b],
        &[0xff, 0x15],
        &[0xff, 0x24, 0xc8],
        &[0xff],
        &[0xe8],
        &[0xe9],
        &[0xeb],
        &[0xe2],
        &[0xe3],
        &[0x0f, 0x84],
        &[0x74],
        &[0xc3],
        &[0xc2],
        &[0xcb],
        &[0x0f, 0x05],
        &[0xcd, 0x80],
        &[0xc7, 0xf8],
        &[0x8b, 0x05],
        &[0x8d, 0x0d],
        &[0x80, 0x3d],
        &[0x62],
        &[0xc4],
        &[0xc5],
        &[0x0f, 0x01],
        &[0x0f, 0xae],
        &[0x39, 0xc8],
        &[0x90],
        &[0x8e, 0xe8],
        &[0x0f, 0x38],
        &[0x0f, 0x3a],
        &[0xd9],
        &[0x50],
        &[0x5a],
        &[0x8f],
        &[0x8f, 0x04, 0xc8],
        &[0x41, 0x53, 0xc3],
    ];
    let piece = prop_oneof![
        3 => proptest::sample::select(interesting.to_vec()).prop_map(<[u8]>::to_vec),
        2 => proptest::collection::vec(any::<u8>(), 1..6),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|all| all.concat())
}

fn input() -> impl Strategy<Value = (Vec<u8>, u64, u64, u32, (bool, bool, u8))> {
    let image = prop_oneof![
        Just(0x40_0000_u64),
        Just(0x5555_5555_0000),
        Just(0x7fff_f7c0_0000),
        Just(0x7ffe_0000)
    ];
    (
        code(),
        image,
        0..0x20_0000_u64,
        prop_oneof![
            0..4_u32,
            (0..4_u32).prop_map(|context| context | Context::CALLED.0)
        ],
        any::<(bool, bool, u8)>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn fragments_are_sound((code, image, offset, context, (unreadable, arrives, shape)) in input()) {
        for tool in [
            "null", "counts", "sides", "opcodes", "calls", "both", "routines", "records", "accesses",
        ] {
            let request = Request {
                pc: AppPc(image + offset),
                image: ImageBase(image),
                context: Context(context),
                bytes: &code,
                end: if unreadable { BytesEnd::Unreadable } else { BytesEnd::Limit },
                max_source: None,
                shape: Shape(shape),
                sequences: &[],
                arrives,
                optimize: Optimize::ALL,
                sealed: ImageRange::NONE,
                steady: true,
                bodies: None,
            };
            let fragment = compile(&request, common::tool(tool));
            check(&fragment, code.len());
            prop_assert_eq!(&fragment, &compile(&request, common::tool(tool)));
            if context & Context::VOLATILE.0 == 0 && fragment.source_len > 0 {
                let again = again(&request, &fragment, tool);
                prop_assert_eq!(&fragment, &again);
            }
        }
    }
}

/// The recorded trace, from no more than its own bytes.
fn again(request: &Request<'_>, fragment: &Fragment, tool: &str) -> Fragment {
    let source = fragment.source_len;
    let request = Request {
        bytes: &request.bytes[..source as usize],
        max_source: Some(source),
        shape: fragment.shape,
        ..*request
    };
    compile(&request, common::tool(tool))
}

fn check(fragment: &Fragment, available: usize) {
    assert!(fragment.hot.len() >= 8);
    assert!(fragment.source_len as usize <= available.min(MAX_TRACE_BYTES));
    check_relocs(fragment);
    check_exits(fragment);
    check_rows(fragment);
    check_placement(fragment);
}

fn check_relocs(fragment: &Fragment) {
    let (hot, cold) = (fragment.hot.len() as u32, fragment.cold.len() as u32);
    let mut fields = HashSet::new();
    for exit in &fragment.exits {
        assert!(fields.insert((Section::Hot as u8, exit.branch)), "{exit:?}");
    }
    for reloc in &fragment.relocs {
        let len = match reloc.section {
            Section::Hot => hot,
            Section::Cold => cold,
        };
        assert!(reloc.at + 4 <= len, "{reloc:?}");
        assert!(fields.insert((reloc.section as u8, reloc.at)), "{reloc:?}");
        match reloc.kind {
            RelocKind::Slot(slot) => assert!(usize::from(slot) < fragment.slots.len()),
            RelocKind::Hot(at) => assert!(at < hot),
            RelocKind::Cold(at) => assert!(at < cold),
            RelocKind::App(_) | RelocKind::AppAbs32(_) => {}
            RelocKind::Cell(n) => {
                assert!(fragment.cells().is_some_and(|count| n < count), "{reloc:?}");
            }
        }
    }
    for slot in &fragment.slots {
        if let SlotInit::Cold(at) = slot {
            assert!(*at < cold);
        }
    }
}

fn check_exits(fragment: &Fragment) {
    for exit in &fragment.exits {
        assert_eq!(exit.branch % 4, 0);
        assert!(exit.branch + 4 <= fragment.hot.len() as u32);
        let executed = executed_at(&fragment.pc_map, exit.branch);
        assert!((1..=fragment.instructions).contains(&executed), "{exit:?}");
    }
}

fn check_rows(fragment: &Fragment) {
    let rows: Vec<PcRow> = fragment.pc_map.iter().collect();
    assert_eq!((rows[0].hot, rows[0].app), (0, 0));
    let first = rows.iter().find(|row| row.flags & pc_flag::BOUNDARY != 0);
    // (Callees begin with what takes the CPU's return address away.)
    let called = fragment.context.contains(Context::CALLED);
    let begins = first.is_some_and(|row| called || row.hot == fragment.entry.into());
    assert!(begins, "the VM finds the trace's first instruction");
    assert!(rows.windows(2).all(|pair| pair[0].hot < pair[1].hot));
    // Behind the trace stand the parts of its calls that were put aside.
    let ascending = rows
        .windows(2)
        .take_while(|pair| pair[0].app <= pair[1].app);
    let (trace, aside) = rows.split_at(ascending.count() + 1);
    assert!(trace.iter().all(|row| row.app <= fragment.source_len));
    assert!(aside.iter().all(|row| row.flags & pc_flag::BOUNDARY == 0));
    assert!(rows.iter().all(|row| row.hot < fragment.hot.len() as u32));
    let whole = |row: &PcRow| row.spilled.is_empty();
    let but_rax =
        |row: &PcRow| row.spilled == SpillSet::NONE.with(Spill::Rax.slot(), Spill::Rax.register());
    assert!(
        first.is_some_and(|row| whole(row) || called && but_rax(row)),
        "where runs begin"
    );
    let boundaries = rows.iter().filter(|row| row.flags & pc_flag::BOUNDARY != 0);
    assert_eq!(boundaries.count() as u32, fragment.instructions.max(1));
    for count in &fragment.counts {
        assert!(count.done <= fragment.hot.len() as u32);
        let aside = count.app == CountRow::ASIDE;
        assert!(aside || rows.iter().any(|row| row.app == count.app));
    }
}

fn check_placement(fragment: &Fragment) {
    let image = 0x40_0000;
    let place = Placement {
        hot: image + 0x1000_0000,
        cold: image + 0x1100_0000,
        slots: image + 0x1200_0000,
        image: ImageBase(image),
        cells: 0x1_0000,
    };
    let (mut hot, mut cold) = (fragment.hot.clone(), fragment.cold.clone());
    // Targets may be out of reach at this place, but never out of bounds.
    if let Err(error) = apply(fragment, &place, &mut hot, &mut cold) {
        let off = match error.reloc.kind {
            RelocKind::App(off) | RelocKind::AppAbs32(off) => off.0,
            other => panic!("{other:?} out of reach"),
        };
        assert!(off.unsigned_abs() > 0x2000_0000, "{error:?}");
    }
}
