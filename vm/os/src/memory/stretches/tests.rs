use super::*;
use alloc::vec::Vec;

/// (One test: what is known of the heap is one per process. That of this one is the test
/// harness's, so nothing else is noted here.)
#[test]
fn stretches_grow_and_are_abandoned_together() {
    note(0x1000, 0x2000);
    note(0x2000, 0x3000);
    note(0x8000, 0x9000);
    let all = || all().collect::<Vec<_>>();
    assert_eq!(all(), [(0x1000, 0x3000), (0x8000, 0x9000)]);
    note(0x7000, 0x8000);
    assert_eq!(all(), [(0x1000, 0x3000), (0x7000, 0x9000)]);
    assert!(!is_abandoned(0x1000));
    abandon();
    assert!(is_abandoned(0x1000) && is_abandoned(0x8fff) && !is_abandoned(0x9000));
    // What comes now is the new heap's, though it lies right behind the old one's.
    note(0x9000, 0xa000);
    assert!(!is_abandoned(0x9000));
    assert_eq!(all().len(), 3);
    for n in 0..100 {
        note(0x10_0000 + n * 0x2000, 0x10_1000 + n * 0x2000);
    }
    assert_eq!(all().len(), 64, "what does not fit is left out");
    assert!(!is_abandoned(0x1000_0000));
    abandon();
    assert!(is_abandoned(0x1000_0000), "it may be of what was left out");
}
