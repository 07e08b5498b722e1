use super::*;
use ppin_sdk::records::records;
use ppin_testing::{Process, Sample};

/// The tool, writing lines.
fn text() -> Memtrace {
    let mut tool = Memtrace::default();
    tool.configure(&[("format", "text")]).unwrap();
    tool
}

/// Runs `bytes` in a process of its own and gives back the lines of the file.
fn lines(bytes: &[u8], set: impl Fn(&mut Sample)) -> Vec<String> {
    let (process, tool) = (Process::new(), text());
    let mut sample = Sample::new(bytes);
    set(&mut sample);
    tool.start(&process);
    process.run(&tool, &sample);
    let _ = ppin_testing::report(&tool, &process, Format::Human);
    accesses(&process, "memtrace.1000.out")
}

/// The accesses in the file at `path`, without instruction addresses.
fn accesses(process: &Process, path: &str) -> Vec<String> {
    let text = process.file(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rest = |line: &str| line.split_once(": ").unwrap().1.to_string();
    lines.map(rest).collect()
}

fn set(sample: &mut Sample, reg: Reg, value: u64) {
    sample.registers[reg as usize] = value;
}

#[test]
fn a_line_tells_instruction_kind_address_and_size() {
    let (process, tool) = (Process::new(), text());
    tool.start(&process);
    let mut sample = Sample::new(&[0x50, 0x01, 0x18, 0xc3]); // push rax; add [rax], ebx; ret
    set(&mut sample, Reg::Rsp, 0x7008);
    set(&mut sample, Reg::Rax, 0x404000);
    process.run(&tool, &sample);
    let pc = Sample::PC;
    let want = format!(
        "{pc:#x}: W 0x7000 8\n{:#x}: R 0x404000 4\n{:#x}: W 0x404000 4\n{:#x}: R 0x7008 8\n",
        pc + 1,
        pc + 1,
        pc + 3
    );
    let text = process.file("memtrace.1000.out").unwrap();
    assert_eq!(text.replace("# thread 0\n", ""), want);
}

#[test]
fn what_touches_no_memory_has_no_line() {
    let code = [
        0x48, 0x8d, 0x00, // lea rax, [rax]
        0x0f, 0x1f, 0x00, // nop [rax]
        0x0f, 0x18, 0x08, // prefetcht0 [rax]
        0x90,
    ];
    assert_eq!(lines(&code, |_| ()), [""; 0]);
}

#[test]
fn repeated_string_instructions_cover_their_elements() {
    let run = |code: &[u8], count| {
        lines(code, |sample| {
            set(sample, Reg::Rsi, 0x1000);
            set(sample, Reg::Rdi, 0x2000);
            set(sample, Reg::Rcx, count);
        })
    };
    let (movsq, stosb) = ([0xf3, 0x48, 0xa5], [0xf3, 0xaa]);
    assert_eq!(run(&movsq, 3), ["R 0x1000 24", "W 0x2000 24"]);
    assert_eq!(run(&stosb, 100), ["W 0x2000 100"]);
    assert_eq!(run(&stosb, 0), [""; 0]);
    let (repne_scasb, movsb) = ([0xf2, 0xae], [0xa4]);
    assert_eq!(run(&repne_scasb, 100), ["R 0x2000 1"]);
    assert_eq!(run(&movsb, 0), ["R 0x1000 1", "W 0x2000 1"]);
}

#[test]
fn calls_and_returns_use_the_stack() {
    let call_through_memory = [0xff, 0x13]; // call [rbx]
    let seen = lines(&call_through_memory, |sample| {
        set(sample, Reg::Rsp, 0x7008);
        set(sample, Reg::Rbx, 0x5000);
    });
    assert_eq!(seen, ["R 0x5000 8", "W 0x7000 8"]);
}

#[test]
fn a_pop_to_the_stack_takes_the_new_stack_pointer() {
    let pop = [0x8f, 0x44, 0x24, 0x08]; // pop [rsp + 8]
    let seen = lines(&pop, |sample| set(sample, Reg::Rsp, 0x7000));
    assert_eq!(seen, ["R 0x7000 8", "W 0x7010 8"]);
}

#[test]
fn the_state_of_the_processor_has_no_known_size() {
    let xsave = [0x0f, 0xae, 0x23]; // xsave [rbx]
    let seen = lines(&xsave, |sample| set(sample, Reg::Rbx, 0x5000));
    assert_eq!(seen, ["R 0x5000 0", "W 0x5000 0"]);
}

#[test]
fn gathers_are_counted() {
    let (process, tool) = (Process::new(), text());
    tool.start(&process);
    // vpgatherdd xmm0, [rax + xmm1 * 4], xmm2
    process.run(
        &tool,
        &Sample::new(&[0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88, 0xc3]),
    );
    assert!(process.global_total(UNTOLD) > 0);
    let text = ppin_testing::report(&tool, &process, Format::Human);
    assert!(text.contains("without a known address"), "{text}");
}

#[test]
fn each_thread_keeps_its_order() {
    let (process, tool) = (Process::new(), text());
    tool.start(&process);
    let threads: Vec<_> = (0..4).map(|_| process.add_thread()).collect();
    std::thread::scope(|scope| {
        for &thread in &threads {
            let (process, tool) = (&process, &tool);
            scope.spawn(move || {
                let mut sample = Sample::new(&[0x8a, 0x03]); // mov al, [rbx]
                sample.thread = thread;
                for n in 0..5000 {
                    set(&mut sample, Reg::Rbx, n);
                    process.run(tool, &sample);
                }
            });
        }
    });
    let text = process.file("memtrace.1000.out").unwrap();
    let mut seen = [0; 5];
    let mut thread = 0;
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("# thread ") {
            thread = number.parse().unwrap();
        } else {
            assert!(
                line.ends_with(&format!(": R {:#x} 1", seen[thread])),
                "{line}"
            );
            seen[thread] += 1;
        }
    }
    assert_eq!(seen, [0, 5000, 5000, 5000, 5000]);
}

#[test]
fn a_forked_child_has_a_file_of_its_own() {
    let (process, tool) = (Process::new(), text());
    let code = Sample::new(&[0x8a, 0x03]);
    tool.start(&process);
    process.run(&tool, &code);
    process.fork();
    tool.fork_child(&process);
    process.run(&tool, &code);
    process.run(&tool, &code);
    let _ = ppin_testing::report(&tool, &process, Format::Human);
    assert_eq!(accesses(&process, "memtrace.1000.out").len(), 1);
    assert_eq!(accesses(&process, "memtrace.1001.out").len(), 2);
}

#[test]
fn reports_tell_the_file() {
    let (process, mut tool) = (Process::new(), text());
    tool.configure(&[("file", "/tmp/trace.%p")]).unwrap();
    tool.start(&process);
    process.run(&tool, &Sample::new(&[0x8a, 0x03]));
    let text = ppin_testing::report(&tool, &process, Format::Human);
    let want = "\n memtrace: /bin/sample (process 1000)\n\n  1  accesses, in /tmp/trace.1000\n\n";
    assert_eq!(text, want);
    let text = ppin_testing::report(&tool, &process, Format::Json);
    let want = concat!(
        r#"{"tool":"memtrace","process":1000,"program":"/bin/sample","#,
        r#""file":"/tmp/trace.1000","accesses":1,"without_address":0}"#,
        "\n"
    );
    assert_eq!(text, want);
}

#[test]
fn a_full_disk_is_told() {
    let (process, tool) = (Process::new(), text());
    tool.start(&process);
    process.fill_disk();
    process.run(&tool, &Sample::new(&[0x8a, 0x03]));
    let text = ppin_testing::report(&tool, &process, Format::Human);
    assert!(
        text.contains("the file is incomplete: No space left on device"),
        "{text}"
    );
    assert!(text.contains("  0  accesses"), "{text}");
}

#[test]
fn the_binary_format_is_what_it_says() {
    let (process, tool) = (Process::new(), Memtrace::default());
    tool.start(&process);
    let mut sample = Sample::new(&[0xf3, 0xae, 0x01, 0x18]); // rep scasb; add [rax], ebx
    set(&mut sample, Reg::Rcx, 7);
    set(&mut sample, Reg::Rdi, 0x9000);
    set(&mut sample, Reg::Rax, 0x404000);
    sample.thread = process.add_thread();
    process.run(&tool, &sample);
    let bytes = process.bytes("memtrace.1000.out").unwrap();
    let pieces: Vec<&[u8]> = bytes.chunks_exact(48).collect();
    assert_eq!((pieces.len(), bytes.len()), (2, 96));
    for piece in &pieces {
        let (header, _) = piece.split_at(24);
        assert_eq!(header[..4], *b"ppmt");
        let words: Vec<u32> = header[4..]
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(words, [1, 1000, sample.thread.0, 24, 0]);
    }
    let found: Vec<Access> = pieces
        .iter()
        .flat_map(|piece| records(&piece[24..]))
        .collect();
    let want = [
        Access {
            pc: Sample::PC,
            address: 0x9000,
            what: 1 << 4 | 0b1101,
            count: 7,
        },
        Access {
            pc: Sample::PC + 2,
            address: 0x404000,
            what: 4 << 4 | 0b11,
            count: 0,
        },
    ];
    assert_eq!(found, want);
    let text = ppin_testing::report(&tool, &process, Format::Human);
    assert!(text.contains("  2  accesses"), "{text}");
}

#[test]
fn other_formats_are_refused() {
    let refused = Memtrace::default().configure(&[("format", "csv")]);
    assert!(refused.unwrap_err().contains("binary and text"));
}
