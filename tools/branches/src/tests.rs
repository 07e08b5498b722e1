use super::*;
use ppin_testing::{Process, Sample};

/// je; jne; ret
const CODE: &[u8] = &[0x74, 0x10, 0x75, 0x10, 0xc3];

#[test]
fn each_branch_tells_on_both_ways_that_it_was_executed() {
    let process = Process::new();
    let tool = BranchCounts::default();
    let mut sample = Sample::new(CODE);
    sample.registers[Reg::Rsp as usize] = 0x7000;
    // (Of a sample, what is called on either way is called.)
    process.run(&tool, &sample);
    let text = ppin_testing::report(&tool, &process, Format::Json);
    assert_eq!(
        text.matches(r#""executed":2,"taken":1"#).count(),
        2,
        "{text}"
    );
    let text = ppin_testing::report(&tool, &process, Format::Human);
    assert!(
        text.contains("4  50.00 %  branches, and how many"),
        "{text}"
    );
}
