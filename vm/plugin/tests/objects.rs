//! Objects made by hand: what is accepted, what is refused and why, and that no bytes whatever
//! make the reader panic or lead it astray.

use ppin_plugin::{Card, Object, Refusal, Rights, door};
use proptest::prelude::*;

const OPCODES: u64 = 77;
const TEXT: u64 = 0x1000;
const DATA: u64 = 0x3000;
const DYNAMIC: usize = 0x3100;
const RELA: usize = 0x200;
const NAME: u64 = 0x180;

/// What may be different in a sample.
#[derive(Clone, Debug)]
struct Sample {
    name: &'static str,
    version: u32,
    opcodes: u64,
    relocations: Vec<[u64; 3]>,
    dynamic: Vec<[u64; 2]>,
    headers: Vec<[u64; 6]>,
    entry: u64,
}

impl Default for Sample {
    fn default() -> Self {
        let relative = |at: usize, to: u64| [DATA + at as u64, 8, to];
        Self {
            name: "sample",
            version: door::VERSION,
            opcodes: OPCODES,
            relocations: vec![
                relative(door::AT_NAME, NAME),
                relative(door::AT_SUMMARY, NAME + 0x20),
                relative(door::AT_KNOBS, DATA + 0x80),
                relative(door::AT_FUNCTIONS, TEXT + 8),
                relative(0x80, NAME + 0x40),
                relative(0x80 + door::TEXT, NAME + 0x50),
                relative(0x80 + 2 * door::TEXT, NAME + 0x60),
            ],
            dynamic: Vec::new(),
            headers: vec![
                // kind, flags, offset, address, length in the file, in memory
                [1, 4, 0, 0, 0x400, 0x400],
                [1, 5, TEXT, TEXT, 0x10, 0x10],
                [1, 6, 0x2000, DATA, 0x200, 0x800],
                [2, 6, 0x2100, DYNAMIC as u64, 0x100, 0x100],
            ],
            entry: DATA,
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

impl Sample {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x2200];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
        put(&mut bytes, 24, self.entry);
        put(&mut bytes, 32, 64);
        (bytes[54], bytes[56]) = (56, self.headers.len() as u8);
        for (n, [kind, flags, offset, address, len, memory]) in self.headers.iter().enumerate() {
            let row = 64 + 56 * n;
            put(&mut bytes, row, kind | flags << 32);
            for (at, value) in [(8, offset), (16, address), (32, len), (40, memory)] {
                put(&mut bytes, row + at, *value);
            }
        }
        self.texts(&mut bytes);
        self.tables(&mut bytes);
        bytes
    }

    fn texts(&self, bytes: &mut [u8]) {
        let place = NAME as usize;
        bytes[place..place + self.name.len()].copy_from_slice(self.name.as_bytes());
        for (at, text) in [
            (0x20, "a sample"),
            (0x40, "knob"),
            (0x50, "on"),
            (0x60, "helps"),
        ] {
            bytes[place + at..place + at + text.len()].copy_from_slice(text.as_bytes());
        }
        let data = 0x2000;
        bytes[data..data + 8].copy_from_slice(&door::MAGIC);
        let length = door::AT_FUNCTIONS as u64 + 8;
        put(bytes, data + 8, u64::from(self.version) | length << 32);
        put(bytes, data + door::AT_OPCODES, self.opcodes);
        put(bytes, data + door::AT_NAME + 8, self.name.len() as u64);
        put(bytes, data + door::AT_SUMMARY + 8, 8);
        put(bytes, data + door::AT_KNOBS + 8, 1);
        for (n, len) in [4, 2, 5].iter().enumerate() {
            put(bytes, data + 0x80 + n * door::TEXT + 8, *len);
        }
        put(bytes, data + 0x80 + 3 * door::TEXT, door::CHANGES_CODE);
    }

    fn tables(&self, bytes: &mut [u8]) {
        for (n, row) in self.relocations.iter().enumerate() {
            let [place, kind, addend] = *row;
            for (at, value) in [(0, place), (8, kind), (16, addend)] {
                put(bytes, RELA + 24 * n + at, value);
            }
        }
        let own = [
            [7, RELA as u64],
            [8, 24 * self.relocations.len() as u64],
            [9, 24],
        ];
        for (n, [tag, value]) in own.iter().chain(&self.dynamic).enumerate() {
            put(bytes, 0x2100 + 16 * n, *tag);
            put(bytes, 0x2108 + 16 * n, *value);
        }
    }
}

fn card(bytes: &[u8]) -> Result<Card, Refusal> {
    Card::read(&Object::parse(bytes)?, OPCODES)
}

fn refusal(change: impl FnOnce(&mut Sample)) -> Refusal {
    let mut sample = Sample::default();
    change(&mut sample);
    card(&sample.bytes()).unwrap_err()
}

#[test]
fn words_that_name_code_are_told_if_the_linker_says_that_they_stay() {
    let links = |row: Option<[u64; 6]>| {
        let mut sample = Sample::default();
        sample.headers.extend(row);
        let bytes = sample.bytes();
        let object = Object::parse(&bytes).unwrap();
        object.links().collect::<Vec<_>>()
    };
    let relro = |at, len| Some([0x6474_e552, 4, 0x2000, at, len, len]);
    let word = DATA + door::AT_FUNCTIONS as u64;
    assert_eq!(links(relro(DATA, 0x200)), [(word, TEXT + 8)]);
    assert_eq!(links(relro(word + 1, 0x100)), []);
    assert_eq!(links(relro(u64::MAX, 8)), []);
    assert_eq!(links(None), []);
}

#[test]
fn a_tool_tells_its_name_and_knobs_without_being_run() {
    let card = card(&Sample::default().bytes()).unwrap();
    assert_eq!((&*card.name, &*card.summary), ("sample", "a sample"));
    let knob = &card.knobs[0];
    assert_eq!(
        (&*knob.name, &*knob.default, &*knob.help),
        ("knob", "on", "helps")
    );
    assert!(knob.changes_code && !knob.writes_file && card.knobs.len() == 1);
}

#[test]
fn an_object_is_the_same_tool_at_every_address() {
    let bytes = Sample::default().bytes();
    let object = Object::parse(&bytes).unwrap();
    let base = 0x7f12_3456_7000;
    let mut memory = vec![0; object.span() as usize];
    object.lay_out(&mut memory, base);
    let there = Card::of_laid_out(&object, OPCODES, &memory, base);
    assert_eq!(there, Card::read(&object, OPCODES));
    let word = memory[DATA as usize + door::AT_NAME..][..8]
        .try_into()
        .unwrap();
    assert_eq!(u64::from_le_bytes(word), base + NAME);
}

#[test]
fn an_object_is_the_same_where_its_file_is_mapped() {
    let mut sample = Sample::default();
    assert!(!Object::parse(&sample.bytes()).unwrap().lies_as_in_file());
    // A page before the data, and all lies where it lies in memory.
    sample.headers[2][2] = DATA;
    sample.headers[3][2] = DYNAMIC as u64;
    let mut bytes = sample.bytes();
    bytes.splice(0x2000..0x2000, [0xcc; 0x1000]);
    let object = Object::parse(&bytes).unwrap();
    assert!(object.lies_as_in_file());
    let base = 0x7f12_3456_7000;
    let span = object.span() as usize;
    let [mut laid_out, mut mapped] = [vec![0; span], vec![0; span]];
    object.lay_out(&mut laid_out, base);
    let pages = object.pages_in_file() as usize;
    assert!(pages <= span);
    // What follows in the file is something else.
    let file = bytes.iter().copied().chain(core::iter::repeat(0xcc));
    mapped[..pages]
        .iter_mut()
        .zip(file)
        .for_each(|(to, from)| *to = from);
    object.complete(&mut mapped, base);
    for segment in object.segments() {
        let there = segment.at as usize..(segment.at + segment.memory) as usize;
        assert_eq!(mapped[there.clone()], laid_out[there]);
    }
}

#[test]
fn every_page_gets_the_rights_of_its_segment() {
    let bytes = Sample::default().bytes();
    let object = Object::parse(&bytes).unwrap();
    let pages: Vec<_> = object
        .protections()
        .map(|part| (part.pages.start, part.pages.end, part.rights))
        .collect();
    let want = [
        (0, 0x1000, Rights::Read),
        (0x1000, 0x2000, Rights::Execute),
        (0x2000, 0x3000, Rights::Read),
        (0x3000, 0x4000, Rights::Write),
    ];
    assert_eq!(pages, want);
    assert_eq!(object.span(), 0x4000);
    assert!(object.is_code(TEXT + 0xf) && !object.is_code(TEXT + 0x10) && !object.is_code(DATA));
}

#[test]
fn other_versions_and_opcodes_are_refused_in_a_sentence() {
    let version = refusal(|sample| sample.version = door::VERSION + 1);
    assert_eq!(version, Refusal::Version(door::VERSION + 1));
    assert!(version.to_string().contains("build it again"), "{version}");
    assert_eq!(refusal(|sample| sample.opcodes = 1), Refusal::Opcodes);
}

#[test]
fn what_is_no_tool_is_refused() {
    assert_eq!(card(b""), Err(Refusal::NotAnObject));
    assert_eq!(card(b"#!/bin/sh\n"), Err(Refusal::NotAnObject));
    assert_eq!(refusal(|s| s.entry = 0), Refusal::NoDoor);
    assert_eq!(refusal(|s| s.entry = u64::MAX), Refusal::NoDoor);
    assert_eq!(refusal(|s| s.entry = DATA + 4), Refusal::NoDoor);
    assert_eq!(refusal(|s| s.headers[3][0] = 3), Refusal::NotShared);
}

#[test]
fn an_object_that_needs_others_or_a_loader_is_refused() {
    let with = |entry| refusal(|sample| sample.dynamic.push(entry));
    assert_eq!(with([1, 5]), Refusal::Imports);
    assert_eq!(with([2, 24]), Refusal::Imports);
    for (tag, value) in [(12, 0x1000), (27, 8), (36, 8), (22, 0)] {
        assert!(
            matches!(with([tag, value]), Refusal::Unsupported(_)),
            "{tag}"
        );
    }
    assert_eq!(refusal(|s| s.relocations[0][1] = 6), Refusal::Imports);
    let tls = refusal(|s| s.headers.push([7, 4, 0, 0, 8, 8]));
    assert!(matches!(tls, Refusal::Unsupported(_)));
    let both = refusal(|s| s.headers[1][1] = 7);
    assert!(matches!(both, Refusal::Unsupported(_)));
}

#[test]
fn headers_that_contradict_each_other_are_refused() {
    let malformed = |change: &dyn Fn(&mut Sample)| {
        let why = refusal(change);
        assert!(matches!(why, Refusal::Malformed(_)), "{why:?}");
    };
    malformed(&|s| s.headers[2][3] = TEXT);
    malformed(&|s| s.headers[2][4] = 0x900);
    malformed(&|s| s.headers[2][5] = u64::MAX);
    malformed(&|s| s.headers[3][3] = 0x3700);
    malformed(&|s| s.headers.truncate(3));
    malformed(&|s| s.relocations[0][0] = TEXT);
    malformed(&|s| s.relocations[0][0] = DATA + 0x7fc);
    malformed(&|s| s.relocations[0][2] = u64::MAX);
    malformed(&|s| s.dynamic.push([9, 16]));
    malformed(&|s| s.dynamic.push([8, 25]));
    assert_eq!(refusal(|s| s.headers[1][2] = 0x21f8), Refusal::Torn);
}

#[test]
fn a_description_that_is_not_plain_is_refused() {
    let described = |why: Refusal| assert!(matches!(why, Refusal::Card(_)), "{why:?}");
    described(refusal(|s| s.name = ""));
    described(refusal(|s| s.name = "Sample"));
    described(refusal(|s| s.name = "a\nb"));
    // The name lies outside, the function is data.
    described(refusal(|s| s.relocations[0][2] = 0x37ff + 1));
    described(refusal(|s| s.relocations[3][2] = DATA));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_torn_object_is_refused(len in 0..0x2200_usize) {
        // Behind the last byte of a segment nothing is needed.
        let bytes = Sample::default().bytes();
        prop_assert!(card(&bytes[..len]).is_err());
    }

    /// Whatever is accepted can be laid out and read; nothing panics.
    #[test]
    fn changed_bytes_are_refused_or_harmless(
        changes in proptest::collection::vec((0..0x2200_usize, any::<u8>()), 1..8)
    ) {
        let mut bytes = Sample::default().bytes();
        for (at, value) in changes {
            bytes[at] = value;
        }
        let _ = card(&bytes);
    }

    #[test]
    fn words_of_the_headers_may_be_anything(
        row in 0..4_usize,
        field in 0..6_usize,
        value in prop_oneof![any::<u64>(), 0..0x8000_u64],
    ) {
        let mut sample = Sample::default();
        sample.headers[row][field] = value;
        let _ = card(&sample.bytes());
    }
}
