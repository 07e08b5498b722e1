//! Listings, for `ppin inspect` and for the compiler's own tests.

use crate::Gpr;
use crate::{InsReader, Kind, NoIns};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use iced_x86::FastFormatter;
use ppin_abi::addr::AppPc;
use ppin_abi::area::{
    CASES_COUNTDOWN, CASES_INDEX, Calls, Entry, GOING_TO, LEFT_AT, MAX_ROUTINES, MAX_STATES, NEAR,
    PREDICTION_COUNTDOWN, RETURNS, RETURNS_AT, RETURNS_BELOW,
};
use ppin_abi::counters::CELLS;
use ppin_abi::spills::{SPILL_SLOTS, Spill, SpillSet, SpillSlot};
use ppin_relocator::{Fragment, PcRow, Reloc, RelocKind, Section, SlotInit, pc_flag};

/// One instruction, or a few bytes that are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Address or offset of its first byte, as numbered by the caller.
    pub at: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// As text; `(bad)` if it is none.
    pub text: String,
}

/// Disassembles `bytes`, the first of which is numbered `at`.
#[must_use]
pub fn lines(at: u64, bytes: &[u8]) -> Vec<Line> {
    let mut formatter = FastFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_use_hex_prefix(true);
    options.set_uppercase_hex(false);
    options.set_rip_relative_addresses(false);
    let mut lines = Vec::new();
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let ip = at.wrapping_add(done as u64);
        let mut text = String::new();
        let len = match InsReader::new(AppPc(ip), rest).read() {
            Ok(ins) => {
                formatter.format(&ins.raw, &mut text);
                ins.raw.len()
            }
            Err(NoIns::Incomplete | NoIns::Invalid) => {
                text.push_str("(bad)");
                1
            }
        };
        lines.push(Line {
            at: ip,
            bytes: rest[..len].to_vec(),
            text,
        });
        done += len;
    }
    lines
}

/// A line of hot code with what the tables say about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotLine {
    /// The instruction, numbered by hot offset.
    pub line: Line,
    /// The app instruction that it belongs to, in bytes from the head.
    pub app: u32,
    /// The pc-map row that begins here.
    pub row: Option<PcRow>,
    /// What its relocated fields and its `gs:` operand stand for.
    pub notes: Vec<String>,
}

/// The hot code of `fragment`, line by line.
#[must_use]
pub fn hot_lines(fragment: &Fragment) -> Vec<HotLine> {
    let mut app = 0;
    lines(0, &fragment.hot)
        .into_iter()
        .map(|line| {
            let range = line.at as u32..line.at as u32 + line.bytes.len() as u32;
            let rows = fragment.pc_map.iter();
            let row = rows.filter(|row| range.contains(&row.hot)).last();
            app = row.map_or(app, |row| row.app);
            let notes = notes(fragment, &line);
            HotLine {
                line,
                app,
                row,
                notes,
            }
        })
        .collect()
}

fn notes(fragment: &Fragment, line: &Line) -> Vec<String> {
    let range = line.at as u32..line.at as u32 + line.bytes.len() as u32;
    let relocs = fragment.relocs.iter();
    let relocs = relocs.filter(|reloc| reloc.section == Section::Hot && range.contains(&reloc.at));
    let mut notes: Vec<String> = relocs.map(|reloc| describe(fragment, reloc)).collect();
    for exit in fragment
        .exits
        .iter()
        .filter(|exit| range.contains(&exit.branch))
    {
        let (target, context) = (exit.target.0, exit.context.0);
        notes.push(format!("exit to {target:#x} in context {context}"));
    }
    notes.extend(area_note(line));
    notes
}

fn describe(fragment: &Fragment, reloc: &Reloc) -> String {
    match reloc.kind {
        RelocKind::App(off) => format!("app {:#x}", off.0),
        RelocKind::AppAbs32(off) => format!("absolute app {:#x}", off.0),
        RelocKind::Slot(slot) => match fragment.slots.get(usize::from(slot)) {
            Some(SlotInit::App(off)) => format!("slot {slot}: app {:#x}", off.0),
            Some(SlotInit::Landing(off)) => format!("slot {slot}: minus app {:#x}", off.0),
            Some(SlotInit::Prediction(_)) => format!("slot {slot}: minus what is predicted"),
            Some(SlotInit::Entry) => format!("slot {slot}: its entry, until more is known"),
            Some(SlotInit::Behind(hot)) => {
                format!("slot {slot}: hot {hot:#x}, or where the cell leads")
            }
            Some(SlotInit::Cold(cold)) => format!("slot {slot}: cold {cold:#x}"),
            Some(SlotInit::Case(_)) => format!("slot {slot}: cases"),
            Some(SlotInit::ImageCounters) => format!("slot {slot}: image counters"),
            Some(SlotInit::Bundles(count)) => format!("slot {slot}: {count} bundles"),
            None => format!("slot {slot}: missing"),
        },
        RelocKind::Cell(cell) => format!("cell {cell}"),
        RelocKind::Hot(hot) => format!("hot {hot:#x}"),
        RelocKind::Cold(cold) => format!("cold {cold:#x}"),
    }
}

/// Names the field of the thread area that an inserted instruction uses.
fn area_note(line: &Line) -> Option<String> {
    const ENTRIES: [Entry; 12] = [
        Entry::LeaveExit,
        Entry::LeaveTrap,
        Entry::Syscall,
        Entry::IblRet,
        Entry::IblJmp,
        Entry::IblCall,
        Entry::Bridge,
        Entry::ReturnedElsewhere,
        Entry::NotNear,
        Entry::Cpuid,
        Entry::ArrivedElsewhere,
        Entry::Mispredicted,
    ];
    let bytes = hidden_jump(&line.bytes).unwrap_or(&line.bytes);
    let ins = InsReader::new(AppPc(0), bytes).read().ok()?.raw;
    if ins.segment_prefix() != iced_x86::Register::GS {
        return None;
    }
    let disp = ins.memory_displacement32();
    let by = [ins.memory_base(), ins.memory_index()];
    if by != [iced_x86::Register::None; 2] {
        let table = match disp {
            RETURNS_AT | RETURNS | RETURNS_BELOW => "return cache",
            NEAR => "near",
            _ => return None,
        };
        return Some(String::from(table));
    }
    let named = [
        (LEFT_AT, "left at"),
        (CASES_COUNTDOWN, "cases countdown"),
        (CASES_INDEX, "cases index"),
        (PREDICTION_COUNTDOWN, "prediction countdown"),
        (GOING_TO, "going to"),
        (RETURNS_AT, "return cache"),
    ];
    if let Some((_, name)) = named.iter().find(|(cell, _)| *cell == disp) {
        return Some(String::from(*name));
    }
    if disp == ppin_abi::area::PACE {
        return Some(String::from("pace"));
    }
    if let Some(call) = call_note(disp) {
        return Some(call);
    }
    if disp >= CELLS {
        return Some(format!("counter cell {}", (disp - CELLS) / 8));
    }
    let entry = ENTRIES.iter().find(|entry| entry.disp() == disp);
    entry
        .map(|entry| format!("{entry:?}"))
        .or_else(|| slot_note(disp))
}

/// The jump inside the constant of `mov r64, imm64` (`ppin_form::Op::HiddenJump`).
fn hidden_jump(bytes: &[u8]) -> Option<&[u8]> {
    const JUMP: [u8; 4] = [0x65, 0xff, 0x24, 0x25];
    let [0x48 | 0x49, 0xb8..=0xbf, constant @ ..] = bytes else {
        return None;
    };
    (constant.len() == 8 && constant.starts_with(&JUMP)).then_some(constant)
}

/// What calls of routines need.
fn call_note(disp: u32) -> Option<String> {
    let number = |first: u32, count: usize| {
        let n = disp.checked_sub(first)? / 8;
        ((n as usize) < count).then_some(n)
    };
    let named = |what: &str, n: u32| format!("{what} {n}");
    match disp {
        Calls::STACK => return Some(String::from("own stack")),
        Calls::APP_SP => return Some(String::from("app's stack pointer")),
        Calls::RESULT => return Some(String::from("result of the routine")),
        Calls::THREAD => return Some(String::from("thread number")),
        _ => {}
    }
    let routine = number(Calls::routine(0), MAX_ROUTINES).map(|n| named("routine", n));
    let state = || number(Calls::state(0), MAX_STATES).map(|n| named("state", n));
    let code = || number(Calls::code(0), MAX_ROUTINES).map(|n| named("code of routine", n));
    routine.or_else(state).or_else(code)
}

/// A spill slot, by whose home it is.
fn slot_note(disp: u32) -> Option<String> {
    let mut slots = (0..SPILL_SLOTS).filter_map(SpillSlot::new);
    let slot = slots.find(|slot| slot.disp() == disp)?;
    let home = Spill::ALL.into_iter().find(|home| home.slot() == slot);
    Some(match home {
        Some(home) => format!("spill {home:?}"),
        None => format!("spill slot {}", slot.number()),
    })
}

/// What of the app's is not in place in a row: names of registers, each with its slot unless
/// it is at home, and the flags.
#[must_use]
pub fn kept_elsewhere(row: &PcRow) -> String {
    let mut names: Vec<String> = row
        .spilled
        .iter()
        .map(|(slot, register)| {
            let name = Gpr::new(register).named();
            let home = SpillSet::at_home(1 << slot.number());
            if home.slot_of(register).is_some() {
                format!("{name:?}").to_lowercase()
            } else {
                format!("{name:?}@{}", slot.number()).to_lowercase()
            }
        })
        .collect();
    if row.flags & pc_flag::FLAGS_IN_RAX != 0 {
        names.push(String::from("flags"));
    }
    let boundary = row.flags & pc_flag::BOUNDARY != 0;
    if !boundary && row.flags & pc_flag::OWN_STACK != 0 {
        names.push(String::from("rsp"));
    }
    names.join("+")
}

/// The flags of a row: `B` boundary, `B*` a boundary at which a block begins, `A` one before which
/// records have been stored ahead, `D` one that is no side entrance since instructions before it have decided what
/// comes, `I` the instruction itself behind what was inserted.
#[must_use]
pub fn flag_letters(flags: u8) -> &'static str {
    let has = |flag| flags & flag != 0;
    match (
        has(pc_flag::BOUNDARY),
        has(pc_flag::BLOCK),
        has(pc_flag::INSTRUCTION),
    ) {
        (true, _, _) if has(pc_flag::AHEAD) => "A",
        (true, _, _) if has(pc_flag::DECIDED) => "D",
        (true, true, _) => "B*",
        (true, false, _) => "B",
        (false, _, true) => "I",
        (false, _, false) => "",
    }
}

/// Whether the instruction that begins at `bytes` is copied without change, for
/// listings that mark the others.
#[must_use]
pub fn is_verbatim(pc: AppPc, bytes: &[u8]) -> bool {
    InsReader::new(pc, bytes)
        .read()
        .is_ok_and(|ins| ins.kind == Kind::Verbatim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_away_from_home_are_named_with_their_slot() {
        let last = SpillSlot::new(7).unwrap();
        let row = PcRow {
            spilled: SpillSet::at_home(Spill::Rcx.bit()).with(last, 12),
            flags: pc_flag::FLAGS_IN_RAX,
            ..PcRow::default()
        };
        assert_eq!(kept_elsewhere(&row), "rcx+r12@7+flags");
        assert_eq!(kept_elsewhere(&PcRow::default()), "");
        assert_eq!(slot_note(last.disp()).unwrap(), "spill slot 7");
        assert_eq!(slot_note(Spill::Rcx.disp()).unwrap(), "spill Rcx");
        assert_eq!(slot_note(0), None);
    }
}
