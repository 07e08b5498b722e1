use super::*;
use ppin_testing::{Process, Sample};

fn blocks(sample: &Sample) -> u64 {
    let process = Process::new();
    process.run(&Bbcount, sample);
    process.global_total(BLOCKS)
}

#[test]
fn a_block_begins_after_every_branch() {
    let straight = [0x90, 0x90, 0xc3];
    let branches = [0x90, 0x74, 0x10, 0x75, 0x10, 0x90, 0xc3]; // nop je jne nop ret
    assert_eq!(blocks(&Sample::new(&straight)), 1);
    assert_eq!(blocks(&Sample::new(&branches)), 3);
}

#[test]
fn a_block_that_goes_on_is_not_counted_again() {
    let mut sample = Sample::new(&[0x90, 0x74, 0x10, 0xc3]); // nop je ret
    assert_eq!(blocks(&sample), 2);
    sample.context = ppin_testing::CONTINUATION;
    assert_eq!(blocks(&sample), 1);
}

#[test]
fn blocks_are_reported_by_thread() {
    let process = Process::new();
    process.run(&Bbcount, &Sample::new(&[0xc3]));
    let want = concat!(
        r#"{"tool":"bbcount","process":1000,"program":"/bin/sample","blocks":1,"#,
        r#""threads":[{"thread":0,"tid":1000,"blocks":1}]}"#,
        "\n"
    );
    assert_eq!(ppin_testing::report(&Bbcount, &process, Format::Json), want);
    let want = "\n bbcount: /bin/sample (process 1000)\n\n  1  blocks\n\n";
    assert_eq!(
        ppin_testing::report(&Bbcount, &process, Format::Human),
        want
    );
}
