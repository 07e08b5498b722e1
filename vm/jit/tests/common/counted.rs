//! What tools have counted and recorded when a run has ended, held against what was executed.

use super::machine::{CODE, Machine, Outcome, Side};
use super::{Access, Mixed};
use ppin_abi::context::Context;
use ppin_api::{Record, Tool};
use ppin_decode::disasm::Line;
use ppin_relocator::{Fragment, pc_flag};

/// Counts and blocks, from where the run ended.
pub fn check(machine: &Machine, native: &Outcome, side: &Side, tool: &dyn Tool, code: &[u8]) {
    let fragment = machine.compile(code, Context::CANONICAL, tool);
    let mut lines = ppin_decode::disasm::lines(machine.app() + CODE, code);
    if !fragment.shape.is_straight() {
        lines.retain(|line| begins(&fragment, line.at - machine.app() - CODE));
    }
    let executed = match side.executed {
        Some(executed) => executed as usize,
        None if side.fault => lines.iter().take_while(|line| line.at < native.pc).count(),
        None => fragment.instructions as usize,
    };
    match tool.name() {
        "counts" | "routines" => assert_eq!(side.global[0], executed as u64, "{code:02x?}"),
        "sides" => {
            assert_eq!(side.global[0], executed as u64, "{code:02x?}");
            check_sides(
                machine,
                native,
                side,
                &lines[..executed.min(lines.len())],
                code,
            );
        }
        "opcodes" => assert_eq!(side.image.iter().sum::<u64>(), executed as u64),
        "records" => {
            assert_eq!(side.global[0], executed as u64, "{code:02x?}");
            // One that faults has its records, too.
            let reached = executed + usize::from(side.fault);
            let reached = &lines[..reached.min(lines.len())];
            check_accesses(machine, side, reached, code);
            check_mixed(side, reached, code);
        }
        "accesses" => {
            let reached = executed + usize::from(side.fault);
            check_accesses(machine, side, &lines[..reached.min(lines.len())], code);
        }
        _ => {}
    }
}

/// Whether an instruction of the trace begins `app` bytes behind its head.
fn begins(fragment: &Fragment, app: u64) -> bool {
    let mut rows = fragment.pc_map.iter();
    rows.any(|row| row.flags & pc_flag::BOUNDARY != 0 && u64::from(row.app) == app)
}

/// Sides of the conditional branches among the instructions `executed`, of which only the last may have
/// been taken.
fn check_sides(machine: &Machine, native: &Outcome, side: &Side, executed: &[Line], code: &[u8]) {
    let bytes = |at: u64| &code[(at - machine.app() - CODE) as usize..];
    let branches = |line: &&Line| super::is_conditional(bytes(line.at));
    let all = executed.iter().filter(branches).count() as u64;
    let next = |line: &Line| line.at + line.bytes.len() as u64;
    let last = executed.last().filter(branches);
    let taken = u64::from(last.is_some_and(|line| native.pc != next(line)));
    let counted = [1, 2, 3].map(|n| side.global[n]);
    assert_eq!(counted, [all, all - taken, taken], "{code:02x?}");
}

/// Records of the instructions `reached`, in their order.
fn check_accesses(machine: &Machine, side: &Side, reached: &[Line], code: &[u8]) {
    let [accesses, _] = &side.records;
    let bytes = |at: u64| &code[(at - machine.app() - CODE) as usize..];
    let operands = reached.iter().flat_map(|line| {
        let count = super::operands(bytes(line.at));
        std::iter::repeat_n(line.at, count)
    });
    let records = accesses.chunks_exact(Access::SIZE as usize);
    let found: Vec<u64> = records.map(|r| Access::read(r).unwrap().pc).collect();
    assert_eq!(found, operands.collect::<Vec<_>>(), "{code:02x?}");
}

fn check_mixed(side: &Side, reached: &[Line], code: &[u8]) {
    let [_, mixed] = &side.records;
    let records = mixed.chunks_exact(Mixed::SIZE as usize);
    let records: Vec<Mixed> = records.map(|r| Mixed::read(r).unwrap()).collect();
    assert_eq!(records.len(), reached.len().div_ceil(3), "{code:02x?}");
    for (number, record) in records.iter().enumerate() {
        let rest = (record.index, record.thread, record.long);
        assert_eq!(rest, (3 * number as u16, 7, 0x0123_4567_89ab_cdef));
        let next = reached[3 * number].at + reached[3 * number].bytes.len() as u64;
        assert_eq!(record.next, next as u32);
    }
}
