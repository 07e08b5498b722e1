//! Calls of analysis routines, found in translated code by the stub that makes each
//! (see [`ppin_abi::record::CallRec`]).

use super::Sample;
use core::mem::{offset_of, size_of};
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::area::Entry;
use ppin_abi::record::{ArgKind, CallArg, CallRec, NO_REG};
use ppin_relocator::{Fragment, RelocKind, Section};

/// One call.
pub(super) struct Found {
    pub routine: u16,
    pub args: Vec<CallArg>,
}

impl Found {
    /// The register that its result is put into, if it is.
    pub(super) fn into(&self) -> Option<usize> {
        let is_into = |arg: &&CallArg| arg.kind == ArgKind::Into as u8;
        self.args.iter().find(is_into).map(|arg| arg.base.into())
    }

    /// The call itself; and the one that it decides about, if it does.
    pub(super) fn parts(&self) -> (Found, Option<Found>) {
        const MARKS: [u8; 2] = [ArgKind::Then as u8, ArgKind::Into as u8];
        let is_mark = |arg: &CallArg| MARKS.contains(&arg.kind);
        let mut pieces = self.args.splitn(2, is_mark);
        let first = pieces.next().unwrap_or_default().to_vec();
        let then = self.args.get(first.len()).zip(pieces.next());
        let then = then.filter(|_| self.into().is_none());
        let then = then.map(|(then, args)| Found {
            routine: then.value[0] as u16,
            args: args.to_vec(),
        });
        let first = Found {
            routine: self.routine,
            args: first,
        };
        (first, then)
    }
}

/// All calls of a fragment, in the order in which they are made.
pub(super) fn calls(fragment: &Fragment) -> Vec<Found> {
    let mut stubs: Vec<(u32, u32)> = fragment
        .relocs
        .iter()
        .filter_map(|reloc| match (reloc.section, reloc.kind) {
            (Section::Hot, RelocKind::Cold(record)) => Some((reloc.at, record)),
            _ => None,
        })
        .filter(|(at, _)| enters_bridge(&fragment.hot[*at as usize + 4..]))
        .collect();
    stubs.sort_unstable();
    let records = stubs.iter();
    records
        .map(|(_, record)| found(&fragment.cold[*record as usize..]))
        .collect()
}

/// Whether `code`, behind `lea rcx, [rip + record]`, is `jmp gs:[Entry::Bridge]`.
fn enters_bridge(code: &[u8]) -> bool {
    const GS_JMP: [u8; 4] = [0x65, 0xff, 0x24, 0x25];
    let disp = Entry::Bridge.disp().to_le_bytes();
    code.strip_prefix(&GS_JMP)
        .is_some_and(|rest| rest.starts_with(&disp))
}

fn found(record: &[u8]) -> Found {
    let half = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
    let count = half(offset_of!(CallRec, args));
    let args = record[size_of::<CallRec>()..].chunks_exact(size_of::<CallArg>());
    Found {
        routine: half(offset_of!(CallRec, routine)),
        args: args.take(usize::from(count)).map(call_arg).collect(),
    }
}

fn call_arg(bytes: &[u8]) -> CallArg {
    let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
    CallArg {
        kind: bytes[0],
        base: bytes[1],
        index: bytes[2],
        scale_seg: bytes[3],
        value: [word(4), word(8)],
    }
}

/// What the engine would pass.
pub(super) fn argument(arg: &CallArg, sample: &Sample, base: ImageBase) -> u64 {
    const APP: [u8; 2] = [ArgKind::AppAddr as u8, ArgKind::ImageAddr as u8];
    let value = u64::from(arg.value[0]) | u64::from(arg.value[1]) << 32;
    match arg.kind {
        kind if APP.contains(&kind) => ImageOff(arg.value[0].cast_signed()).at(base).0,
        kind if kind == ArgKind::Reg as u8 => register(sample, arg.base),
        kind if kind == ArgKind::EffectiveAddr as u8 => effective(arg, sample, value),
        kind if kind == ArgKind::ThreadId as u8 => u64::from(sample.thread.0),
        _ => value,
    }
}

fn register(sample: &Sample, number: u8) -> u64 {
    match number {
        NO_REG => 0,
        number => sample.registers[usize::from(number)],
    }
}

fn effective(arg: &CallArg, sample: &Sample, disp: u64) -> u64 {
    const FS: u8 = 1 << 4;
    const GS: u8 = 1 << 5;
    const NARROW: u8 = 1 << 6;
    let index = register(sample, arg.index) << (arg.scale_seg & 0xf);
    let sum = register(sample, arg.base)
        .wrapping_add(index)
        .wrapping_add(disp);
    let is = |bit| arg.scale_seg & bit != 0;
    let sum = if is(NARROW) { sum & 0xffff_ffff } else { sum };
    let segment = match (is(FS), is(GS)) {
        (true, _) => sample.segments[0],
        (_, true) => sample.segments[1],
        _ => 0,
    };
    sum.wrapping_add(segment)
}
