use super::*;

const fn sequence(start: u64, end: u64) -> Sequence {
    Sequence {
        start: AppPc(start),
        end: AppPc(end),
        abort: AppPc(end + 0x100),
        signature: SIGNATURE,
    }
}

const ONE: Sequence = sequence(0x1000, 0x1020);
/// Overlaps with [`ONE`].
const TWO: Sequence = sequence(0x1010, 0x1030);

/// A translation of `sequence` at cache address `hot`.
const fn translation(sequence: Sequence, hot: u64) -> Copy {
    Copy {
        sequence,
        head: sequence.start,
        context: Context::CANONICAL,
        hot,
        stub: hot + 0x100,
        descriptor: hot + 0x200,
        expected: hot + 0x220,
        landings: Vec::new(),
        live: true,
    }
}

fn with(known: &[Sequence], copies: &[(Sequence, u64)]) -> Sequences {
    let mut all = Sequences::default();
    for one in known {
        assert!(all.learn(*one));
    }
    for (sequence, hot) in copies {
        all.add(translation(*sequence, *hot));
    }
    all
}

#[test]
fn of_overlapping_sequences_the_last_one_counts() {
    let mut all = with(&[ONE, TWO], &[]);
    assert_eq!(all.holding(AppPc(0x1010)), Some(TWO));
    assert_eq!(all.holding(AppPc(0x100f)), Some(ONE));
    assert!(!all.learn(TWO), "it is the last one already");
    assert!(all.learn(ONE), "code was replaced by what it was before");
    assert_eq!(all.holding(AppPc(0x1010)), Some(ONE));
    assert_eq!(all.known(), 2, "each is known once");
}

#[test]
fn an_older_sequence_that_overlaps_with_no_newer_one_is_not_new() {
    let mut all = with(&[ONE, sequence(0x2000, 0x2010)], &[]);
    assert!(!all.learn(ONE));
}

#[test]
fn a_trace_may_reach_what_it_begins_in_or_runs_into() {
    let all = with(&[ONE], &[]);
    let far = ONE.start.0 - MAX_TRACE_BYTES as u64;
    assert!(all.near(AppPc(far)).is_empty());
    assert_eq!(all.near(AppPc(far + 1)), [ONE]);
    assert_eq!(all.near(AppPc(ONE.end.0 - 1)), [ONE]);
    assert!(all.near(ONE.end).is_empty());
    assert!(all.near(AppPc(u64::MAX)).is_empty(), "the end of memory");
}

#[test]
fn the_instruction_before_a_sequence_is_near_enough_to_announce_it() {
    let all = with(&[ONE], &[]);
    let ahead = |pc| all.ahead(AppPc(pc), 15);
    assert_eq!(ahead(ONE.start.0 - 15), Some(ONE));
    assert_eq!([ahead(ONE.start.0 - 16), ahead(ONE.start.0)], [None; 2]);
    assert!(all.aborts_at(ONE.abort) && !all.aborts_at(ONE.start));
}

#[test]
fn unmapped_sequences_are_forgotten() {
    let mut all = with(&[ONE, sequence(0x1020, 0x1030)], &[]);
    all.unmapped(0, ONE.start.0);
    all.unmapped(0x1030, 0x2000);
    assert_eq!(all.known(), 2, "before and behind them");
    all.unmapped(ONE.end.0 - 1, ONE.end.0);
    assert_eq!(all.holding(ONE.start), None);
    assert!(all.holding(ONE.end).is_some(), "it begins there");
}

#[test]
fn signatures_are_the_usual_one_and_those_registered() {
    let mut all = Sequences::default();
    assert!(all.is_signature(SIGNATURE) && !all.is_signature([1, 2, 3, 4]));
    all.add_signature([1, 2, 3, 4]);
    assert!(all.is_signature([1, 2, 3, 4]) && all.is_signature(SIGNATURE));
}

#[test]
fn a_translation_is_entered_at_its_head_or_behind_the_start() {
    let mut all = with(&[ONE], &[]);
    let announcing = Copy {
        head: AppPc(ONE.start.0 - 8),
        ..translation(ONE, 0x7000)
    };
    let n = all.add(announcing);
    let live = |pc, context| all.live(&ONE, AppPc(pc), context);
    let plain = Context::CANONICAL;
    assert_eq!(live(ONE.start.0 - 8, plain), Some(n));
    assert_eq!(live(ONE.start.0 + 1, plain), Some(n));
    assert_eq!(live(ONE.start.0, plain), None, "its start is no entry");
    assert_eq!(live(ONE.start.0 + 1, Context::WATCHED), None);
    assert_eq!(all.live(&TWO, TWO.start, plain), None);
}

#[test]
fn a_translation_is_found_by_its_parts() {
    let all = with(&[ONE, TWO], &[(ONE, 0x7000), (TWO, 0x8000)]);
    assert_eq!([all.at(0x7000), all.at(0x8000)], [Some(0), Some(1)]);
    assert_eq!(all.at(0x7001), None);
    assert_eq!(all.of_stub(0x8100).map(|c| c.hot), Some(0x8000));
    assert_eq!(all.of_descriptor(0x7200).map(|c| c.hot), Some(0x7000));
    assert!(all.of_descriptor(0x7201).is_none() && all.of_stub(0x7000).is_none());
}

#[test]
fn a_discarded_translation_gives_its_landings_back() {
    let mut all = with(&[ONE, TWO], &[(ONE, 0x7000), (TWO, 0x8000)]);
    all.add_landing(0, AppPc(0x1004), 0x7700);
    all.add_landing(1, AppPc(0x1014), 0x8800);
    assert_eq!([all.owner(0x7700), all.owner(0x8800)], [Some(0), Some(1)]);
    assert_eq!(all.discarded(0x7000), [0x7700]);
    assert_eq!([all.owner(0x7700), all.at(0x7000)], [None; 2]);
    assert_eq!(all.owner(0x8800), Some(1), "the other one stays");
    assert!(all.is_discarded(0x7200) && !all.is_discarded(0x8200));
    assert!(all.of_descriptor(0x7200).is_some(), "threads may name it");
}

#[test]
fn a_discarded_landing_is_no_longer_entered() {
    let mut all = with(&[ONE], &[(ONE, 0x7000)]);
    all.add_landing(0, AppPc(0x1004), 0x7700);
    all.add_landing(0, AppPc(0x1008), 0x7800);
    assert!(all.discarded(0x7700).is_empty(), "nothing leads into it");
    assert_eq!([all.owner(0x7700), all.owner(0x7800)], [None, Some(0)]);
    assert_eq!(all.at(0x7000), Some(0), "the translation is in use");
}

#[test]
fn only_what_is_out_of_use_is_forgotten() {
    let mut all = with(&[ONE, TWO], &[(ONE, 0x7000), (TWO, 0x8000)]);
    all.discarded(0x7000);
    all.add(translation(ONE, 0x7000));
    assert_eq!(all.out_of_use().collect::<Vec<_>>(), [0x7000]);
    all.forget(&[0x7000, 0x8000]);
    assert_eq!(all.copies.len(), 2, "two are in use");
    all.forget_copies();
    assert_eq!(all.out_of_use().count(), 2);
    all.forget(&[0x8000]);
    assert_eq!(all.out_of_use().collect::<Vec<_>>(), [0x7000]);
}
