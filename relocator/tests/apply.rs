//! A relocated field leads to its target, read back the way the CPU reads it, at
//! every placement within reach; beyond it nothing is written in silence.

use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::record::stub;
use ppin_relocator::{
    Exit, Fragment, Placement, Reloc, RelocKind, Section, aim, apply, apply_parts, normalise,
    write_stubs,
};
use proptest::prelude::*;

const HOT: usize = 256;
const COLD: usize = 128;

fn kind() -> impl Strategy<Value = RelocKind> {
    prop_oneof![
        any::<i16>().prop_map(|off| RelocKind::App(ImageOff(i32::from(off)))),
        (0..1000u16).prop_map(RelocKind::Slot),
        (0..HOT as u32).prop_map(RelocKind::Hot),
        (0..COLD as u32).prop_map(RelocKind::Cold),
    ]
}

/// Fields that do not overlap: field `n` lies at `8 * n`.
fn relocs() -> impl Strategy<Value = Vec<Reloc>> {
    let hot = proptest::collection::vec((kind(), -16..16i32), HOT / 8);
    let cold = proptest::collection::vec((kind(), -16..16i32), COLD / 8);
    let place = |section| {
        move |(number, (kind, pc_bias))| Reloc {
            section,
            at: 8 * number as u32,
            pc_bias,
            kind,
        }
    };
    (hot, cold).prop_map(move |(hot, cold)| {
        let hot = hot.into_iter().enumerate().map(place(Section::Hot));
        let cold = cold.into_iter().enumerate().map(place(Section::Cold));
        hot.chain(cold).collect()
    })
}

/// Places within 1 GiB of each other, anywhere in user space.
fn placement() -> impl Strategy<Value = Placement> {
    let near = 0..0x2000_0000u64;
    let far = 0x1_0000..0x7000_0000_0000u64;
    (far, near.clone(), near.clone(), near.clone(), near).prop_map(
        |(base, hot, cold, slots, image)| Placement {
            hot: base + hot,
            cold: base + cold,
            slots: base + slots,
            image: ImageBase(base + image),
            cells: hot << 1,
        },
    )
}

fn fragment(relocs: Vec<Reloc>) -> Fragment {
    Fragment {
        hot: vec![0xaa; HOT],
        cold: vec![0xbb; COLD],
        relocs,
        ..Fragment::default()
    }
}

fn field(bytes: &[u8], at: u32) -> i32 {
    i32::from_le_bytes(bytes[at as usize..][..4].try_into().unwrap())
}

/// Where `reloc`'s field leads when read at `place`.
fn leads_to(reloc: &Reloc, place: &Placement, hot: &[u8], cold: &[u8]) -> u64 {
    let (bytes, section) = match reloc.section {
        Section::Hot => (hot, place.hot),
        Section::Cold => (cold, place.cold),
    };
    let value = i64::from(field(bytes, reloc.at)) + i64::from(reloc.pc_bias);
    section
        .wrapping_add(u64::from(reloc.at))
        .wrapping_add(value as u64)
}

fn meant(kind: RelocKind, place: &Placement) -> u64 {
    match kind {
        RelocKind::App(off) | RelocKind::AppAbs32(off) => off.at(place.image).0,
        RelocKind::Slot(index) => place.slots + 8 * u64::from(index),
        RelocKind::Hot(off) => place.hot + u64::from(off),
        RelocKind::Cold(off) => place.cold + u64::from(off),
        RelocKind::Cell(index) => place.cells + 8 * u64::from(index),
    }
}

proptest! {
    #[test]
    fn every_field_leads_to_its_target(relocs in relocs(), place in placement()) {
        let fragment = fragment(relocs);
        let (mut hot, mut cold) = (fragment.hot.clone(), fragment.cold.clone());
        apply(&fragment, &place, &mut hot, &mut cold).unwrap();
        for reloc in &fragment.relocs {
            prop_assert_eq!(leads_to(reloc, &place, &hot, &cold), meant(reloc.kind, &place));
        }
    }

    /// Moved from place to place, code ends as if placed at the last one directly.
    #[test]
    fn the_last_placement_wins(
        relocs in relocs(),
        places in proptest::collection::vec(placement(), 1..5),
    ) {
        let fragment = fragment(relocs);
        let (mut hot, mut cold) = (fragment.hot.clone(), fragment.cold.clone());
        for place in &places {
            apply(&fragment, place, &mut hot, &mut cold).unwrap();
        }
        let (mut hot2, mut cold2) = (fragment.hot.clone(), fragment.cold.clone());
        apply(&fragment, &places[places.len() - 1], &mut hot2, &mut cold2).unwrap();
        prop_assert_eq!((hot, cold), (hot2, cold2));
    }

    /// Only relocated fields are written, and normalising forgets the placement.
    #[test]
    fn normalising_undoes_applying(relocs in relocs(), place in placement()) {
        let mut original = fragment(relocs);
        let (mut hot, mut cold) = (original.hot.clone(), original.cold.clone());
        apply(&original, &place, &mut hot, &mut cold).unwrap();
        let mut placed = Fragment { hot, cold, ..original.clone() };
        normalise(&mut placed);
        normalise(&mut original);
        prop_assert_eq!(placed, original);
    }

    /// A target out of reach is an error that names its field, never a wrong value.
    #[test]
    fn targets_out_of_reach_are_refused(distance in 0x8000_1000..0x7000_0000_0000u64, up: bool) {
        let hot = 0x7100_0000_0000u64;
        let image = if up { hot.wrapping_add(distance) } else { hot - distance };
        let place = Placement { hot, cold: hot, slots: hot, image: ImageBase(image), cells: 0 };
        let reloc = Reloc {
            section: Section::Hot,
            at: 8,
            pc_bias: 4,
            kind: RelocKind::App(ImageOff(0)),
        };
        let (mut hot, mut cold) = (vec![0xaa; 16], vec![]);
        let error = apply_parts(&[reloc], &place, &mut hot, &mut cold).unwrap_err();
        prop_assert_eq!(error.reloc, reloc);
        prop_assert_eq!(hot, vec![0xaa; 16]);
    }

    #[test]
    fn fields_out_of_bounds_are_refused(at in 13..u32::MAX, hot_section: bool) {
        let place = Placement { hot: 0, cold: 0, slots: 0, image: ImageBase(0), cells: 0 };
        let section = if hot_section { Section::Hot } else { Section::Cold };
        let reloc = Reloc { section, at, pc_bias: 0, kind: RelocKind::AppAbs32(ImageOff(5)) };
        let (mut hot, mut cold) = (vec![0; 16], vec![0; 16]);
        prop_assert!(apply_parts(&[reloc], &place, &mut hot, &mut cold).is_err());
    }
}

#[test]
fn absolute_fields_hold_sign_extended_addresses() {
    let reloc = |kind| Reloc {
        section: Section::Cold,
        at: 4,
        pc_bias: 77,
        kind,
    };
    let place = |image| Placement {
        hot: 0x7fff_0000_0000,
        cold: 0x7fff_0001_0000,
        slots: 0x7fff_0002_0000,
        image: ImageBase(image),
        cells: 0x7fff_ffe0,
    };
    let mut cold = [0; 8];
    let nth = |index| [reloc(RelocKind::Cell(index))];
    apply_parts(&nth(2), &place(0), &mut [], &mut cold).unwrap();
    assert_eq!(field(&cold, 4), 0x7fff_fff0);
    // Cells that instructions cannot name.
    assert!(apply_parts(&nth(4), &place(0), &mut [], &mut cold).is_err());
    let absolute = [reloc(RelocKind::AppAbs32(ImageOff(0x10)))];
    apply_parts(&absolute, &place(0x40_0000), &mut [], &mut cold).unwrap();
    assert_eq!(field(&cold, 4), 0x40_0010);
    apply_parts(&absolute, &place(0xffff_ffff_8000_0000), &mut [], &mut cold).unwrap();
    assert_eq!(field(&cold, 4) as u32, 0x8000_0010);
    assert!(apply_parts(&absolute, &place(0x8000_0000), &mut [], &mut cold).is_err());
}

#[test]
fn normalising_also_forgets_links() {
    let mut linked = fragment(Vec::new());
    linked.exits.push(Exit {
        target: ImageOff(0),
        context: ppin_abi::context::Context(0),
        branch: 12,
    });
    normalise(&mut linked);
    assert_eq!(linked.hot[11..17], [0xaa, 0, 0, 0, 0, 0xaa]);
    assert!(linked.cold.iter().all(|byte| *byte == 0xbb));
}

#[test]
fn the_branch_of_an_exit_leads_to_its_stub_and_that_to_its_slot() {
    let exits = [4, 20].map(|branch| Exit {
        target: ImageOff(0),
        context: ppin_abi::context::Context(0),
        branch,
    });
    let place = Placement {
        hot: 0x1000,
        cold: 0x3000,
        slots: 0x4000,
        image: ImageBase(0),
        cells: 0,
    };
    let code = Fragment {
        exits: exits.to_vec(),
        ..fragment(Vec::new())
    };
    let (mut hot, mut cold) = (code.hot.clone(), code.cold.clone());
    apply(&code, &place, &mut hot, &mut cold).unwrap();
    let mut stubs = vec![0xcc; stub::room(2) as usize];
    write_stubs(2, place.stub(0, 2), 0x5000, &mut stubs).unwrap();
    let leads = |start: u64, at: u32, bytes: &[u8]| {
        (start + u64::from(at) + 4).wrapping_add_signed(field(bytes, at).into())
    };
    for (number, exit) in exits.iter().enumerate() {
        let stub = place.stub(number, 2);
        assert_eq!(leads(0x1000, exit.branch, &hot), stub);
        let slot = leads(place.stub(0, 2), stub::at(number) + stub::FIELD, &stubs);
        assert_eq!(slot, 0x5000 + 8 * number as u64);
    }
    assert!(place.stub(1, 2) < 0x3000, "they lie before the cold code");
    let far = Exit {
        branch: HOT as u32,
        ..exits[0]
    };
    assert!(
        aim(&far, 0x1000, 0x1000, &mut hot).is_err(),
        "there is no such field"
    );
    assert!(
        aim(&exits[0], 0, 1 << 40, &mut hot).is_err(),
        "out of reach"
    );
}

/// Each says by its own address which it is.
#[test]
fn stubs_pass_their_address_and_leave_by_the_tail() {
    for count in 1..20 {
        let mut code = vec![0xcc; stub::room(count) as usize];
        write_stubs(count, 0x10_0000, 0x20_0000, &mut code).unwrap();
        for number in 0..count {
            let at = stub::at(number);
            let body = &code[at as usize..][..stub::LAST as usize];
            assert_eq!(body[..2], [0xff, 0x25], "jmp [rip + slot]");
            // lea rcx, [rip + distance]
            assert_eq!(body[15..18], [0x48, 0x8d, 0x0d]);
            assert_eq!(field(body, 18), -(stub::LAST as i32));
            let behind = at + stub::LAST;
            let tail = match code[behind as usize] {
                0xeb => behind + 2 + u32::from(code[behind as usize + 1]),
                _ => behind,
            };
            assert_eq!(code[tail as usize..][..4], [0x65, 0xff, 0x24, 0x25]);
        }
        let short = &mut vec![0; stub::all(count) as usize - 1];
        assert!(write_stubs(count, 0x10_0000, 0x20_0000, short).is_none());
    }
    assert!(
        write_stubs(1, 0, 1 << 40, &mut [0; 64]).is_none(),
        "a slot out of reach"
    );
}
