use super::*;
use crate::fresh::Kind;
use crate::testing::{World, arrived_at, by_cases, left_by_cases_at};
use ppin_abi::addr::ImageOff;
use ppin_abi::predicted::{self, Table};
use ppin_indirect::FILLS;
use ppin_os::mem::PAGE;
use ppin_relocator::SlotInit;

const TABLE: u64 = 4 * PAGE;
const TARGET: u64 = 0x80;
const RDX: usize = 2;

/// A jump by a table of two addresses at rdx, and the code for where both lead.
struct Jump {
    world: World,
    from: CachePc,
    to: CachePc,
}

impl Jump {
    fn new() -> Self {
        let mut world = World::new();
        let register = RDX as u8;
        let held = Some(predicted::Held {
            register,
            both: true,
        });
        let (count, bytes) = (2, 8);
        let mut made = by_cases(ImageOff(0), 0, bytes, [0xff, 0x21]);
        let what = Table { count, bytes, held }.encode();
        made.hot[5..9].copy_from_slice(&what.to_le_bytes());
        made.slots = alloc::vec![SlotInit::Entry, SlotInit::Entry, SlotInit::Case(4)];
        let from = world.install(made, Kind::Trace).expect("there is room");
        let to = world.install(arrived_at(TARGET, &FILLS), Kind::Trace);
        let to = to.expect("there is room");
        for table in [TABLE, TABLE + 64] {
            let target = world.pc(TARGET).0.to_le_bytes();
            world.app.write(world.pc(table).0, &[target; 2].concat());
        }
        Self { world, from, to }
    }

    fn seal(&mut self) {
        let start = self.world.pc(TABLE).0;
        self.world.code.seal_cells(start, start + PAGE);
    }

    /// Asks where the jump leads if the table lies at this app offset.
    fn ask(&mut self, table: u64) -> Option<CodeOf> {
        let mut registers = [0; 16];
        registers[RDX] = self.world.pc(table).0;
        let (at, target) = (left_by_cases_at(self.from), self.world.pc(TARGET));
        let code = &mut self.world.code;
        assert_eq!(
            code.predict(at, target, self.to),
            None,
            "nobody knows where"
        );
        code.lead_held(at, target, self.to, &registers)
    }

    fn slots(&self) -> [u64; 3] {
        let first = self.world.fresh(self.from).space().slots;
        // SAFETY: slots of a fragment that stays.
        [0, 8, 16].map(|at| unsafe { ((first + at) as *const u64).read() })
    }

    /// Where the jump goes by each entry.
    fn goes(&self) -> [u64; 2] {
        // SAFETY: what is asked for before has been made.
        [0, 8].map(|at| unsafe { ((self.slots()[1] + at) as *const u64).read() })
    }
}

#[test]
fn a_jump_goes_by_the_first_table_that_does_not_change() {
    let mut jump = Jump::new();
    let (own, behind) = (jump.from.0, jump.from.0 + 4);
    assert_eq!(jump.ask(TABLE), None, "anybody may write to it");
    assert_eq!(jump.slots(), [own, own, behind]);
    jump.seal();
    assert_eq!(jump.ask(TABLE), Some(CodeOf::Fresh));
    let table = jump.world.pc(TABLE).0;
    assert_eq!(jump.slots()[0], table.wrapping_neg());
    assert_eq!(jump.goes(), [jump.to.0 - 18; 2]);
    assert_eq!(jump.ask(TABLE + 64), None, "it goes by another");
    jump.world.code.unseal_cells(table, table + 1);
    assert_eq!(jump.goes(), [behind; 2]);
    jump.seal();
    assert_eq!(jump.ask(TABLE), Some(CodeOf::Fresh));
    assert_eq!(jump.goes(), [jump.to.0 - 18; 2]);
}

#[test]
fn with_its_target_a_case_goes_back() {
    let mut jump = Jump::new();
    jump.seal();
    assert!(jump.ask(TABLE).is_some());
    let target = jump.world.pc(TARGET).0;
    jump.world.code.kill_made_from(target, target + 1);
    assert_eq!(jump.goes(), [jump.from.0 + 4; 2]);
}
