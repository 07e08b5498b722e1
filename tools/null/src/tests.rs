use super::*;
use ppin_testing::{Process, Sample};

#[test]
fn nothing_is_counted_and_nothing_reported() {
    let process = Process::new();
    process.run(&Null, &Sample::new(&[0x90, 0xc3]));
    assert_eq!(process.global_total(0), 0);
    assert_eq!(ppin_testing::report(&Null, &process, Format::Human), "");
    assert_eq!(ppin_testing::report(&Null, &process, Format::Json), "");
}
