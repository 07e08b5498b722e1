//! What the processor of this machine does.

#![allow(missing_docs, reason = "tests")]

#[test]
fn logic_instructions_write_all_arithmetic_flags() {
    assert!(ppin_os::processor::logic_writes_af());
}
