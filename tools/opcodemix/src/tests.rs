use super::*;
use ppin_testing::{Process, Sample};

const CODE: &[u8] = &[0x50, 0x90, 0x53, 0x58, 0x50, 0xc3]; // push nop push pop push ret

fn two_images() -> Process {
    let process = Process::new();
    let mut sample = Sample::new(CODE);
    process.run(&Opcodemix::default(), &sample);
    sample.image = process.add_image("/lib/libx.so");
    for _ in 0..1000 {
        process.run(&Opcodemix::default(), &sample);
    }
    process.add_image("/lib/unused.so");
    process
}

#[test]
fn people_see_the_top() {
    let process = two_images();
    let mut tool = Opcodemix::default();
    tool.configure(&[("top", "2")]).unwrap();
    let text = ppin_testing::report(&tool, &process, Format::Human);
    let want = "
 opcodemix: /bin/sample (process 1000)

  6,006           instructions
  6,000  99.90 %  /lib/libx.so
  3,000  50.00 %    push
  1,000  16.67 %    nop
  2,000  33.33 %    2 more
      6   0.10 %  /bin/sample
      3  50.00 %    push
      1  16.67 %    nop
      2  33.33 %    2 more

";
    assert_eq!(text, want);
}

#[test]
fn programs_see_all() {
    let text = ppin_testing::report(&Opcodemix::default(), &two_images(), Format::Json);
    let want = concat!(
        r#"{"tool":"opcodemix","process":1000,"program":"/bin/sample","instructions":6006,"#,
        r#""images":[{"path":"/lib/libx.so","instructions":6000,"#,
        r#""opcodes":{"push":3000,"nop":1000,"pop":1000,"ret":1000}},"#,
        r#"{"path":"/bin/sample","instructions":6,"opcodes":{"push":3,"nop":1,"pop":1,"ret":1}}]}"#,
        "\n"
    );
    assert_eq!(text, want);
}

#[test]
fn images_of_one_path_are_one() {
    let process = Process::new();
    let mut sample = Sample::new(CODE);
    process.run(&Opcodemix::default(), &sample);
    sample.image = process.add_image("/bin/sample");
    process.run(&Opcodemix::default(), &sample);
    let text = ppin_testing::report(&Opcodemix::default(), &process, Format::Json);
    assert_eq!(text.matches("\"path\"").count(), 1, "{text}");
    assert!(text.contains(r#""instructions":12"#), "{text}");
}

#[test]
fn nothing_executed_is_reported_too() {
    let text = ppin_testing::report(&Opcodemix::default(), &Process::new(), Format::Human);
    assert_eq!(
        text,
        "\n opcodemix: /bin/sample (process 1000)\n\n  0    instructions\n\n"
    );
}
