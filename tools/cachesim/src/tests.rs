use super::*;
use ppin_testing::{Process, Sample};

/// push rax; pop rax; mov [rbx], rcx; rep stosb; ret
const CODE: &[u8] = &[0x50, 0x58, 0x48, 0x89, 0x0b, 0xf3, 0xaa, 0xc3];

fn run(process: &Process, count: u64) -> String {
    let mut sample = Sample::new(CODE);
    sample.registers[Reg::Rsp as usize] = 0x7000;
    sample.registers[Reg::Rbx as usize] = 0x9000;
    sample.registers[Reg::Rdi as usize] = 0x9030;
    sample.registers[Reg::Rcx as usize] = count;
    process.run(&Cachesim, &sample);
    ppin_testing::report(&Cachesim, process, Format::Json)
}

#[test]
fn every_access_is_looked_up() {
    let text = run(&Process::new(), 80);
    // The push writes below the stack pointer, the pop and the return read at it.
    let want = r#""reads":2,"read_misses":1,"writes":4,"write_misses":3"#;
    assert!(text.contains(want), "{text}");
}

#[test]
fn nothing_is_repeated_zero_times() {
    let text = run(&Process::new(), 0);
    assert!(text.contains(r#""writes":2,"#), "{text}");
}

#[test]
fn people_read_a_table() {
    let process = Process::new();
    run(&process, 1);
    let text = ppin_testing::report(&Cachesim, &process, Format::Human);
    assert!(text.contains("3  writes\n"), "{text}");
    assert!(text.contains("  write misses\n"), "{text}");
}
