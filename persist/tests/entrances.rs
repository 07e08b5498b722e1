//! Exits that lead into the middle of a fragment.

mod common;

use common::{pieces, sample, spec};
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_persist::{Thawed, UnitFile, UnitSpec, freeze, merge};
use ppin_relocator::{CountRow, PcMap, PcRow, pc_flag};

/// An app instruction in the first fragment that is a boundary, and where that is in its hot code.
const APP: u32 = 5;
const HOT: u32 = 12;

/// Two fragments, of which the second one has an exit to the middle of the first.
fn fragments() -> Vec<Thawed> {
    let mut all = sample(2);
    let row = |hot, app| PcRow {
        hot,
        app,
        flags: pc_flag::BOUNDARY,
        ..PcRow::default()
    };
    let middle = ImageOff(all[0].fragment.head.0 + APP as i32);
    let code = &mut all[0].fragment;
    code.pc_map = [row(0, 0), row(HOT, APP)].into_iter().collect::<PcMap>();
    code.counts.clear();
    all[1].fragment.exits.truncate(1);
    all[1].fragment.exits[0].target = middle;
    all[1].fragment.exits[0].context = Context::CANONICAL;
    all
}

fn frozen(all: &[Thawed], entrances: bool) -> Vec<u8> {
    let pieces = pieces(all);
    let spec = spec(&pieces);
    freeze(&UnitSpec { entrances, ..spec }).unwrap()
}

/// Offset in the hot section that the exit of the second fragment leads to, if that is in the unit.
fn target(bytes: &[u8]) -> Option<u32> {
    let file = UnitFile::open(bytes, None).unwrap();
    let unit = file.unit();
    let info = unit.info(1).unwrap();
    let exit = unit.exits(1).unwrap().next().unwrap().unwrap();
    let at = unit.geometry().hot.start as usize + (info.hot.start + exit.branch) as usize;
    let distance = i32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let behind = info.hot.start + exit.branch + 4;
    let hot = unit.geometry().hot;
    let target = behind.checked_add_signed(distance)?;
    (u64::from(target) < hot.end - hot.start).then_some(target)
}

#[test]
fn an_exit_leads_to_the_side_entrance() {
    let bytes = frozen(&fragments(), true);
    assert_eq!(target(&bytes), Some(HOT));
    let file = UnitFile::open(&bytes, None).unwrap();
    let unit = file.unit();
    let (info, head) = (unit.info(0).unwrap(), fragments()[0].fragment.head);
    let middle = ImageOff(head.0 + APP as i32);
    assert_eq!(unit.side_entrance(middle), Ok(Some(HOT)));
    assert_eq!(unit.side_entrance(head), Ok(None), "that is its head");
    assert_eq!(unit.entered_aside(&info, HOT), Some(middle));
    assert!(unit.side_entrances(&info).eq([(middle, HOT)]));
}

#[test]
fn it_stays_so_when_units_are_thawed_and_merged() {
    let bytes = frozen(&fragments(), true);
    let file = UnitFile::open(&bytes, None).unwrap();
    file.verify_all().unwrap();
    assert_eq!(file.thaw_all().unwrap(), fragments());
    let merged = merge(&[file]).unwrap();
    assert_eq!(target(&merged.bytes), Some(HOT));
}

#[test]
fn units_without_side_entrances_have_none() {
    let all = fragments();
    let bytes = frozen(&all, false);
    assert_eq!(target(&bytes), None);
    let file = UnitFile::open(&bytes, None).unwrap();
    let middle = ImageOff(all[0].fragment.head.0 + APP as i32);
    assert_eq!(file.unit().side_entrance(middle), Ok(None));
    let info = file.unit().info(0).unwrap();
    assert_eq!(file.unit().side_entrances(&info).count(), 0);
}

#[test]
fn fragments_that_count_have_none() {
    let mut all = fragments();
    all[0].fragment.counts.push(CountRow {
        done: 0,
        counter: 0,
        image: false,
        app: 0,
        amount: 1,
    });
    assert_eq!(target(&frozen(&all, true)), None);
}
