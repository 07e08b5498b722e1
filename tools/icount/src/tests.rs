use super::*;
use ppin_testing::{Process, Sample};

/// push; rep stosb; pop; jne; ret
const CODE: &[u8] = &[0x50, 0xf3, 0xaa, 0x58, 0x75, 0x10, 0xc3];

fn report(process: &Process, format: Format) -> String {
    ppin_testing::report(&Icount, process, format)
}

#[test]
fn every_instruction_counts_once() {
    let process = Process::new();
    process.run(&Icount, &Sample::new(CODE));
    assert_eq!(process.global_total(INSTRUCTIONS), 5);
}

#[test]
fn one_thread_is_not_listed_for_people() {
    let process = Process::new();
    process.run(&Icount, &Sample::new(CODE));
    let want = "\n icount: /bin/sample (process 1000)\n\n  5  instructions\n\n";
    assert_eq!(report(&process, Format::Human), want);
}

#[test]
fn threads_are_told_apart() {
    let process = Process::new();
    let mut sample = Sample::new(CODE);
    process.run(&Icount, &sample);
    sample.thread = process.add_thread();
    for _ in 0..1000 {
        process.run(&Icount, &sample);
    }
    let want = "
 icount: /bin/sample (process 1000)

  5,005  instructions
      5    thread 0 (1000)
  5,000    thread 1 (1001)

";
    assert_eq!(report(&process, Format::Human), want);
    let want = concat!(
        r#"{"tool":"icount","process":1000,"program":"/bin/sample","instructions":5005,"#,
        r#""threads":[{"thread":0,"tid":1000,"instructions":5},"#,
        r#"{"thread":1,"tid":1001,"instructions":5000}]}"#,
        "\n"
    );
    assert_eq!(report(&process, Format::Json), want);
}

#[test]
fn many_threads_are_summed_up_for_people() {
    let process = Process::new();
    for _ in 0..40 {
        let mut sample = Sample::new(CODE);
        sample.thread = process.add_thread();
        process.run(&Icount, &sample);
    }
    let text = report(&process, Format::Human);
    assert!(text.contains("\n  200  instructions\n"), "{text}");
    assert!(text.contains("\n   45    9 more threads\n"), "{text}");
    assert_eq!(
        report(&process, Format::Json).matches("\"tid\"").count(),
        41
    );
}
