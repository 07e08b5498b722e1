use super::*;
use crate::again::tests::unit_of;
use crate::again::{Verdict, compare};
use crate::image::tests::{AT, file};
use crate::workers::Alone;
use alloc::boxed::Box;
use ppin_abi::context::Context;
use proptest::prelude::*;

const NONE: Edges = Edges(BTreeMap::new());

/// 0: test eax, eax; 2: je 8; 4: inc ecx; 6: jmp 11; 8: inc edx; 10: nop; 11: jne 0; 13: ret
const CODE: &[u8] = &[
    0x85, 0xc0, 0x74, 4, 0xff, 0xc1, 0xeb, 3, 0xff, 0xc2, 0x90, 0x75, 0xf3, 0xc3,
];

fn tool(name: &str) -> Box<dyn Tool> {
    ppin_tools::by_name(name).unwrap()
}

/// A unit of all that the code at [`AT`] leads to.
fn unit(file: &[u8], tool: &dyn Tool) -> Vec<u8> {
    unit_of(file, tool, Optimize::ALL, (&[], ""))
}

fn edges(counted: &[(usize, u64, u64)]) -> Edges {
    let mut edges = Edges::default();
    for (at, executed, taken) in counted {
        edges.add(ImageOff((AT + at) as i32), *executed, *taken);
    }
    edges
}

/// The traces of a unit made anew, by offset: which branches they follow. All of it is what is made today.
fn shapes(made: &Straightened, file: &[u8], tool: &dyn Tool) -> Vec<(usize, u8)> {
    let unit = UnitFile::open(&made.bytes, None).unwrap();
    unit.verify_all().unwrap();
    let traces = unit.thaw_all().unwrap();
    let verdicts = compare(&unit, &traces, file, (tool, Optimize::ALL), &Alone);
    assert!(verdicts.iter().all(|v| *v == Verdict::Same), "{verdicts:?}");
    let shape = |kept: &Thawed| {
        let code = &kept.fragment;
        (code.head.0 as usize - AT, code.shape.0)
    };
    traces.iter().map(shape).collect()
}

fn straightened(tool: &dyn Tool, edges: &Edges) -> Option<(Straightened, Vec<(usize, u8)>)> {
    let file = file(CODE);
    let old = unit(&file, tool);
    let old = UnitFile::open(&old, None).unwrap();
    let made = straighten(&old, &file, (tool, Optimize::ALL), edges, &Alone)?;
    let shapes = shapes(&made, &file, tool);
    Some((made, shapes))
}

#[test]
fn traces_follow_what_is_mostly_taken_and_what_they_left_is_led_to() {
    for name in ["null", "icount"] {
        let (made, shapes) = straightened(&*tool(name), &edges(&[(2, 1000, 999)])).unwrap();
        assert!(shapes.contains(&(0, 1)), "{shapes:?}");
        assert!(shapes.iter().any(|(head, _)| *head == 4), "{shapes:?}");
        assert!(made.changed >= 1);
        let unit = UnitFile::open(&made.bytes, None).unwrap();
        let entrance = |at: usize| {
            let off = ImageOff((AT + at) as i32);
            unit.unit().entrance(off, Context::CANONICAL).unwrap()
        };
        assert!(entrance(0).is_some() && entrance(4).is_some());
    }
}

#[test]
fn what_is_seldom_executed_or_taken_stays_as_it_is() {
    for few in [&[][..], &[(2, 40, 40)], &[(13, 1000, 1000)]] {
        assert!(
            straightened(&*tool("null"), &edges(few)).is_none(),
            "{few:?}"
        );
    }
    // The trace that is executed often goes on where a jump leads.
    let (_, shapes) = straightened(&*tool("null"), &edges(&[(2, 1000, 10)])).unwrap();
    assert!(shapes.contains(&(0, 2)), "{shapes:?}");
}

#[test]
fn a_unit_made_anew_again_is_the_same() {
    let file = file(CODE);
    let (tool, edges) = (tool("null"), edges(&[(2, 1000, 999)]));
    let (made, _) = straightened(&*tool, &edges).unwrap();
    let unit = UnitFile::open(&made.bytes, None).unwrap();
    let again = straighten(&unit, &file, (&*tool, Optimize::ALL), &edges, &Alone);
    assert!(again.is_none());
    let other = straighten(&unit, &file, (&*tool, Optimize::ALL), &NONE, &Alone);
    assert!(other.is_none(), "nothing is known that speaks against it");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_code_becomes_what_is_made_today_and_leads_where_it_led(
        code in proptest::collection::vec(prop_oneof![
            Just(vec![0x74_u8, 3]), Just(vec![0x75, 6]), Just(vec![0xeb, 1]), Just(vec![0x74, 0xf8]),
            Just(vec![0x39, 0xc8]), Just(vec![0x90]), Just(vec![0xe8, 2, 0, 0, 0]), Just(vec![0xc3]),
        ], 1..40),
        taken in proptest::collection::vec(0..3_u64, 80),
        name in prop_oneof![Just("null"), Just("bbcount"), Just("branches")],
    ) {
        let file = file(&code.concat());
        let tool = tool(name);
        let old = unit(&file, &*tool);
        let old = UnitFile::open(&old, None).unwrap();
        let counted: Vec<_> = (0..).zip(&taken).map(|(at, n)| (at, 100, 50 * n)).collect();
        let counted = edges(&counted);
        if let Some(made) = straighten(&old, &file, (&*tool, Optimize::ALL), &counted, &Alone) {
            shapes(&made, &file, &*tool);
            let new = UnitFile::open(&made.bytes, None).unwrap();
            let traces = new.thaw_all().unwrap();
            let lost = |at: &Target| has(&old, at) && !has(&new, at);
            prop_assert!(!traces.iter().flat_map(exits).any(|at| lost(&at)));
        }
    }
}
