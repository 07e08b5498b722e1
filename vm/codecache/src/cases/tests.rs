use super::*;
use crate::exit::CodeOf;
use crate::fresh::Kind;
use crate::testing::{World, arrived_at, by_cases, left_by_cases_at};
use ppin_abi::addr::ImageOff;
use ppin_indirect::{FILLS, JUMPS};
use ppin_os::mem::PAGE;

/// Where the table lies, which has two entries.
const TABLE: u64 = 4 * PAGE;

/// A world, a jump by the table, whose entries lead to app offsets 0x80 and 0xc0, and the code for these.
struct Jump {
    world: World,
    from: CachePc,
    to: [CachePc; 2],
}

const TARGETS: [u64; 2] = [0x80, 0xc0];

impl Jump {
    fn new(bytes: u8, back: usize) -> Self {
        let mut world = World::new();
        let jump = by_cases(ImageOff(TABLE as i32), 2, bytes, JUMPS[back].0);
        let from = world.install(jump, Kind::Trace).expect("there is room");
        let to = TARGETS.map(|offset| {
            let made = arrived_at(offset, &FILLS);
            world.install(made, Kind::Trace).expect("there is room")
        });
        let jump = Self { world, from, to };
        (0..2).for_each(|nth| jump.fill(bytes, nth, TARGETS[nth]));
        jump
    }

    fn table(&self) -> u64 {
        self.world.pc(TABLE).0
    }

    /// Lets entry `nth` lead to app offset `to`.
    fn fill(&self, bytes: u8, nth: usize, to: u64) {
        let at = self.table() + (nth * usize::from(bytes)) as u64;
        let to = self.world.pc(to).0;
        match bytes {
            8 => self.world.app.write(at, &to.to_le_bytes()),
            _ => {
                let distance = to.wrapping_sub(self.table()) as u32;
                self.world.app.write(at, &distance.to_le_bytes());
            }
        }
    }

    fn seal(&mut self) {
        let start = self.table();
        self.world.code.seal_cells(start, start + PAGE);
    }

    /// Asks where the jump leads, of which is said that it is target `nth`.
    fn ask(&mut self, nth: usize) -> Option<CodeOf> {
        let target = self.world.pc(TARGETS[nth]);
        let at = left_by_cases_at(self.from);
        self.world.code.predict(at, target, self.to[nth])
    }

    /// How far before the targets' entries the jump goes; nothing: behind itself.
    fn goes(&self) -> [Option<u64>; 2] {
        let slots = self.world.fresh(self.from).space().slots;
        [0, 1].map(|nth| {
            // SAFETY: a slot of a fragment that stays.
            let to = unsafe { ((slots + 8 + 8 * nth) as *const u64).read() };
            let behind = self.from.0 + 4;
            (to != behind).then(|| self.to[nth as usize].0 - to)
        })
    }
}

#[test]
fn a_jump_goes_by_its_slots_while_the_table_does_not_change() {
    for (bytes, back, before) in [(4, 0, 9), (8, 0, 9), (4, 1, 18)] {
        let mut jump = Jump::new(bytes, back);
        assert_eq!(jump.ask(0), None, "anybody may write to it");
        jump.seal();
        assert_eq!(jump.ask(0), Some(CodeOf::Fresh));
        assert_eq!(jump.goes(), [Some(before), None]);
        assert_eq!(jump.ask(1), Some(CodeOf::Fresh));
        assert_eq!(jump.goes(), [Some(before); 2]);
        assert_eq!(jump.ask(1), None, "it does already");
        let table = jump.table();
        jump.world.code.unseal_cells(table + PAGE, table + 2 * PAGE);
        assert_eq!(jump.goes(), [Some(before); 2]);
        jump.world.code.unseal_cells(table + PAGE - 1, table + PAGE);
        assert_eq!(jump.goes(), [None; 2]);
        assert_eq!(jump.ask(0), None);
    }
}

#[test]
fn cases_that_are_known_come_the_second_time() {
    let mut jump = Jump::new(4, 0);
    jump.seal();
    let other = jump.world.pc(TARGETS[1]);
    jump.world.code.link_indirect(other, jump.to[1]);
    assert!(jump.ask(0).is_some());
    assert_eq!(jump.goes(), [Some(9), None]);
    assert!(jump.ask(0).is_some());
    assert_eq!(jump.goes(), [Some(9); 2]);
    assert_eq!(jump.ask(0), None);
}

#[test]
fn a_table_that_leads_elsewhere_is_not_believed() {
    let mut jump = Jump::new(8, 0);
    jump.seal();
    jump.fill(8, 0, 0x100);
    assert_eq!(jump.ask(0), None);
    jump.fill(8, 0, TARGETS[0]);
    assert!(jump.ask(0).is_some() && jump.ask(1).is_some());
    let table = jump.table();
    for (start, end, stay) in [
        (table - 8, table, [true, true]),
        (table + 15, table + 16, [true, false]),
        (table + 7, table + 9, [false, false]),
    ] {
        jump.world.code.cells_changed(start, end);
        assert_eq!(jump.goes().map(|it| it.is_some()), stay, "{start:#x}");
    }
    assert!(jump.ask(0).is_some(), "it is sealed yet");
}

#[test]
fn with_its_target_a_case_goes_back() {
    let mut jump = Jump::new(4, 0);
    jump.seal();
    assert!(jump.ask(0).is_some() && jump.ask(1).is_some());
    let target = jump.world.pc(TARGETS[0]).0;
    jump.world.code.kill_made_from(target, target + 1);
    assert_eq!(jump.goes(), [None, Some(9)]);
    // There is other code for it.
    let made = arrived_at(TARGETS[0], &FILLS);
    jump.to[0] = jump
        .world
        .install(made, Kind::Trace)
        .expect("there is room");
    assert!(jump.ask(0).is_some());
    assert_eq!(jump.goes(), [Some(9); 2]);
}

#[test]
fn code_without_an_arrival_is_looked_up() {
    let mut jump = Jump::new(4, 0);
    jump.seal();
    let plain = jump.world.trace(0x140, 8, &[]);
    jump.fill(4, 0, 0x140);
    let (at, target) = (left_by_cases_at(jump.from), jump.world.pc(0x140));
    assert_eq!(jump.world.code.predict(at, target, plain), None);
    assert_eq!(jump.goes(), [None; 2]);
}

#[test]
fn what_a_file_holds_and_nobody_may_write_to_is_steady() {
    let mut world = World::new();
    let constant = FILLS.as_ptr() as u64;
    assert!(world.code.is_steady(constant, 18));
    let written = alloc::vec![0_u8; 8];
    let written = written.as_ptr() as u64;
    assert!(!world.code.is_steady(written, 8));
    assert!(!world.code.is_steady(world.pc(TABLE).0, 8) && !world.code.is_steady(8, 8));
    world.code.unseal_cells(constant, constant + 1);
    assert!(world.code.is_steady(constant, 18), "it is looked at again");
}
