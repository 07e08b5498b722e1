//! Each file in `tests/filetests` holds a request and, below `---`, what the
//! compiler makes of it: trace, code, stubs, relocations, tables. After a change
//! that is meant, `PPIN_BLESS=1 cargo test -p ppin-jit --test filetests` writes the
//! new results into the files; look at the difference before committing it.

mod common;

use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_decode::disasm;
use ppin_jit::{BytesEnd, Request, Sequence, compile, compile_sequence};
use ppin_relocator::{Fragment, PcRow, Section, Shape};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What stands above `---`.
struct Input {
    pc: u64,
    image: u64,
    context: u32,
    end: BytesEnd,
    max_source: Option<u32>,
    shape: Shape,
    tool: String,
    bytes: Vec<u8>,
    sequence: Option<Sequence>,
    arrives: bool,
    sealed: ImageRange,
    optimize: Optimize,
}

fn parse(text: &str) -> Input {
    let mut input = Input {
        pc: 0x5555_5555_1000,
        image: 0x5555_5555_0000,
        context: 0,
        end: BytesEnd::Limit,
        max_source: None,
        shape: Shape::STRAIGHT,
        tool: "null".into(),
        bytes: Vec::new(),
        sequence: None,
        arrives: false,
        sealed: ImageRange::NONE,
        optimize: Optimize::ALL,
    };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        let Some((key, value)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        input.set(key, value.trim());
    }
    input
}

impl Input {
    fn set(&mut self, key: &str, value: &str) {
        match key {
            "pc" => self.pc = number(value),
            "image" => self.image = number(value),
            "context" => self.context = number(value) as u32,
            "max_source" => self.max_source = Some(number(value) as u32),
            "shape" => self.shape = Shape(number(value) as u8),
            "tool" => self.tool = value.into(),
            "end" if value == "unreadable" => self.end = BytesEnd::Unreadable,
            "optimize" => self.optimize = Optimize::parse(value).unwrap(),
            "arrives" => self.arrives = value == "yes",
            "sealed" if value == "yes" => self.sealed = ImageRange::ALL,
            "sequence" => self.sequence = Some(sequence(value)),
            "bytes" => self.bytes.extend(value.split_whitespace().map(hex_byte)),
            _ => panic!("unknown line: {key} {value}"),
        }
    }

    fn compile(&self) -> Fragment {
        let request = Request {
            pc: AppPc(self.pc),
            image: ImageBase(self.image),
            context: Context(self.context),
            bytes: &self.bytes,
            end: self.end,
            max_source: self.max_source,
            shape: self.shape,
            sequences: &[],
            arrives: self.arrives,
            optimize: self.optimize,
            sealed: self.sealed,
            steady: true,
            bodies: None,
        };
        let tool = common::tool(&self.tool);
        match &self.sequence {
            Some(sequence) => compile_sequence(&request, sequence, tool).fragment,
            None => compile(&request, tool),
        }
    }
}

/// `start end abort`
fn sequence(value: &str) -> Sequence {
    let numbers: Vec<_> = value.split_whitespace().map(number).collect();
    Sequence {
        start: AppPc(numbers[0]),
        end: AppPc(numbers[1]),
        abort: AppPc(numbers[2]),
        signature: [0x53, 0x30, 0x05, 0x53],
    }
}

fn number(text: &str) -> u64 {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16))
        .unwrap_or_else(|_| panic!("no number: {text}"))
}

fn hex_byte(text: &str) -> u8 {
    u8::from_str_radix(text, 16).unwrap_or_else(|_| panic!("no byte: {text}"))
}

fn show(input: &Input, fragment: &Fragment) -> String {
    let mut out = String::new();
    let (source, ins) = (fragment.source_len, fragment.instructions);
    let follows = match fragment.shape {
        Shape::STRAIGHT => String::new(),
        Shape(bits) => format!(", shape {bits:#x}"),
    };
    writeln!(out, "trace: {ins} instructions, {source} bytes{follows}").unwrap();
    for line in disasm::lines(input.pc, &input.bytes[..source as usize]) {
        writeln!(out, "  {:#x}  {}", line.at, line.text).unwrap();
    }
    show_code(&mut out, fragment);
    show_tables(&mut out, fragment);
    out
}

fn show_code(out: &mut String, fragment: &Fragment) {
    writeln!(out, "hot:").unwrap();
    for hot in disasm::hot_lines(fragment) {
        let row = hot.row.map_or(String::new(), |row| row_text(&row));
        let at = hot.line.at;
        let text = format!("  {at:4x} {row:<10} {:<40}", hot.line.text);
        let notes = hot.notes.join(", ");
        writeln!(out, "{}", format!("{text} {notes}").trim_end()).unwrap();
    }
}

fn row_text(row: &PcRow) -> String {
    let letters = disasm::flag_letters(row.flags);
    let spilled = disasm::kept_elsewhere(row);
    format!("+{}{letters} {spilled}", row.app)
}

fn show_tables(out: &mut String, fragment: &Fragment) {
    writeln!(out, "cold: {}", hex(&fragment.cold)).unwrap();
    for reloc in &fragment.relocs {
        let section = match reloc.section {
            Section::Hot => "hot",
            Section::Cold => "cold",
        };
        let (at, bias, kind) = (reloc.at, reloc.pc_bias, reloc.kind);
        writeln!(out, "reloc: {section} {at:#x} {bias:+} {kind:?}").unwrap();
    }
    for slot in &fragment.slots {
        writeln!(out, "slot: {slot:?}").unwrap();
    }
    for exit in &fragment.exits {
        writeln!(out, "exit: {exit:?}").unwrap();
    }
    for count in &fragment.counts {
        writeln!(out, "{count:?}").unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests")
}

/// The file's mistake, if it has one.
fn run(path: &Path, bless: bool) -> Option<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let (head, expected) = text.split_once("---\n").unwrap_or((&text, ""));
    let input = parse(head);
    let found = show(&input, &input.compile());
    if found == expected {
        return None;
    }
    if bless {
        std::fs::write(path, format!("{head}---\n{found}")).unwrap();
        return None;
    }
    Some(format!(
        "{}: expected\n{expected}\nfound\n{found}",
        path.display()
    ))
}

#[test]
fn every_file_compiles_to_what_it_says() {
    let bless = std::env::var_os("PPIN_BLESS").is_some();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "test"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no filetests found");
    let mistakes: Vec<String> = paths.iter().filter_map(|path| run(path, bless)).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
