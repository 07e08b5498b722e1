//! A tool with plain routines of many kinds, whose machine code is this test's own.

use ppin_api::compiler::CodeBytes;
use ppin_api::{
    About, Arg, Counter, IPoint, Merge, Reg, Routine, RoutineId, State, StateId, Tool, Trace,
};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// What the routines collect.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Sums {
    pub count: u64,
    pub sum: u64,
    pub cells: [u64; 16],
    pub tags: [u64; 8],
    pub half: u32,
    pub byte: u8,
}

impl Merge for Sums {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
    }
}

impl Sums {
    #[inline(never)]
    #[cold]
    fn slow(&mut self, address: u64) {
        self.tags[(address >> 6 & 7) as usize] = address >> 6;
        self.sum = self.sum.rotate_left(5) ^ address;
        self.cells[15] = self.cells[15].wrapping_add(1);
    }
}

extern "C" fn empty() {}

extern "C" fn count(sums: &mut Sums) {
    sums.count = sums.count.wrapping_add(1);
}

extern "C" fn mix(sums: &mut Sums, one: u64, other: u64) {
    sums.sum = sums
        .sum
        .wrapping_mul(31)
        .wrapping_add(one ^ other.rotate_left(9));
}

extern "C" fn cell(sums: &mut Sums, index: usize) {
    sums.cells[index] = sums.cells[index].wrapping_add(1);
}

extern "C" fn masked(sums: &mut Sums, index: usize, value: u64) {
    sums.cells[index & 15] ^= value;
    sums.byte = sums.byte.wrapping_add(value as u8);
}

extern "C" fn kind(sums: &mut Sums, kind: u32, value: u64) {
    match kind {
        0 => sums.cells[0] = sums.cells[0].wrapping_add(value),
        1 => sums.cells[1] = sums.cells[1].wrapping_sub(value),
        2 => sums.cells[2] ^= value,
        3 => sums.cells[3] = sums.cells[3].wrapping_mul(value | 1),
        4 => sums.cells[4] |= value,
        5 => sums.cells[5] = sums.cells[5].wrapping_add(value << 3),
        6 => sums.half = sums.half.wrapping_add(value as u32),
        _ => sums.cells[7] = value,
    }
}

extern "C" fn access(sums: &mut Sums, address: u64, write: bool) {
    let line = address >> 6;
    if sums.tags[(line & 7) as usize] == line {
        let cell = &mut sums.cells[usize::from(write)];
        *cell = cell.wrapping_add(1);
    } else {
        sums.slow(address);
    }
}

extern "C" fn most(sums: &mut Sums, value: u64, amount: i64) {
    let value = value >> (amount & 63);
    if sums.sum < value {
        sums.sum = value;
    }
    if (value as i64) < amount {
        sums.count = sums.count.wrapping_add(2);
    }
}

static TABLE: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

extern "C" fn lookup(sums: &mut Sums, index: usize, other: u64, third: u64, fourth: u64) {
    sums.count = sums.count.wrapping_add(u64::from(TABLE[index & 7]));
    sums.sum ^= other.wrapping_add(third).wrapping_sub(fourth);
}

extern "C" fn due(sums: &mut Sums, every: u64) -> bool {
    sums.count = sums.count.wrapping_add(1);
    sums.count.is_multiple_of(2) == (every < 5)
}

extern "C" fn bits(sums: &mut Sums, value: u64) -> u64 {
    sums.sum ^= value;
    value & 0xff00_0000_0000
}

extern "C" fn low(one: u64, other: u64) -> u32 {
    (one as u32 & 1).wrapping_mul(other as u32 & 3)
}

extern "C" fn missed(sums: &mut Sums, address: u64, write: bool) -> bool {
    let line = address >> 6;
    let missed = sums.tags[(line & 7) as usize] != line;
    if missed {
        sums.slow(address);
    }
    missed != write
}

extern "C" fn always(sums: &mut Sums) -> i64 {
    sums.count = sums.count.wrapping_add(3);
    -1
}

/// The first of [`ROUTINES`] that have a result; some of them have two parameters.
pub const DECIDERS: usize = 9;

/// Of [`ROUTINES`], by their number.
pub const ROUTINES: &[Routine] = &[
    Routine::of("empty", &(empty as extern "C" fn())),
    Routine::of("count", &(count as extern "C" fn(&mut Sums))),
    Routine::of("mix", &(mix as extern "C" fn(&mut Sums, _, _))),
    Routine::of("cell", &(cell as extern "C" fn(&mut Sums, _))),
    Routine::of("masked", &(masked as extern "C" fn(&mut Sums, _, _))),
    Routine::of("kind", &(kind as extern "C" fn(&mut Sums, _, _))),
    Routine::of("access", &(access as extern "C" fn(&mut Sums, _, _))),
    Routine::of("most", &(most as extern "C" fn(&mut Sums, _, _))),
    Routine::of("lookup", &(lookup as extern "C" fn(&mut Sums, _, _, _, _))),
    Routine::of("due", &(due as extern "C" fn(&mut Sums, _) -> _)),
    Routine::of("bits", &(bits as extern "C" fn(&mut Sums, _) -> _)),
    Routine::of("low", &(low as extern "C" fn(_, _) -> _)),
    Routine::of("missed", &(missed as extern "C" fn(&mut Sums, _, _) -> _)),
    Routine::of("always", &(always as extern "C" fn(&mut Sums) -> _)),
];

/// Calls of the routines before instruction `n` of a trace, and behind it.
pub struct Routines;

/// Arguments of the call before instruction `n`.
pub fn inserted(n: usize) -> (RoutineId, Vec<Arg>) {
    let routine = n % DECIDERS;
    let state = Arg::State(StateId(0));
    let reg = |k: usize| Arg::Reg(Reg::ALL[(n * 7 + k * 5) % 16]);
    let number = Arg::Const((n as u64).wrapping_mul(0x1_0000_0003));
    let args = match routine {
        0 => vec![],
        1 => vec![state],
        2 => vec![state, reg(0), reg(1)],
        3 => vec![state, Arg::Const(n as u64 % 16)],
        4 => vec![
            state,
            reg(2),
            if n.is_multiple_of(2) { reg(3) } else { number },
        ],
        5 => vec![state, Arg::Const(n as u64 % 9), reg(4)],
        6 => vec![state, reg(5), Arg::Const(n as u64 / 9 % 2)],
        7 => vec![
            state,
            reg(6),
            if n.is_multiple_of(2) { reg(7) } else { number },
        ],
        _ => vec![state, reg(8), reg(9), number, reg(10)],
    };
    (RoutineId(routine as u16), args)
}

/// What decides before instruction `n`.
pub fn deciding(n: usize) -> (RoutineId, Vec<Arg>) {
    let routine = DECIDERS + n % (ROUTINES.len() - DECIDERS);
    let state = Arg::State(StateId(0));
    let reg = |k: usize| Arg::Reg(Reg::ALL[(n * 5 + k * 3) % 16]);
    let args = match routine - DECIDERS {
        0 | 1 => vec![state, reg(0)],
        2 => vec![reg(1), reg(2)],
        3 => vec![state, reg(3), Arg::Const(n as u64 % 2)],
        _ => vec![state],
    };
    (RoutineId(routine as u16), args)
}

impl Tool for Routines {
    fn about(&self) -> &'static About {
        &About {
            name: "routines",
            summary: "plain routines, and a count of instructions",
            knobs: &[],
        }
    }
    fn global_counters(&self) -> u32 {
        super::machine::GLOBALS
    }
    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Sums>("sums")];
        STATES
    }
    fn routines(&self) -> &'static [Routine] {
        ROUTINES
    }
    fn code(&self) -> Option<&dyn CodeBytes> {
        static OWN: OnceLock<OwnCode> = OnceLock::new();
        Some(OWN.get_or_init(OwnCode::new))
    }
    fn instrument(&self, trace: &Trace<'_>) {
        for (n, ins) in trace.ins().enumerate() {
            let n = n + ins.pc().0 as usize % 9;
            let counter = Counter::Global(0);
            ins.insert_count(IPoint::Before, counter, 1).unwrap();
            // (Where no call looks on, counts borrow what the app does not need.)
            if n % 3 == 1 {
                continue;
            }
            let (routine, args) = inserted(n);
            ins.insert_call(IPoint::Before, routine, &args).unwrap();
            if n.is_multiple_of(3) {
                let (routine, args) = inserted(n + 1);
                ins.insert_call(IPoint::Anywhere, routine, &args).unwrap();
            }
            let (routine, args) = inserted(n + 2);
            let _ = ins.insert_call(IPoint::After, routine, &args);
            let _ = ins.insert_call(IPoint::TakenBranch, routine, &args);
            let (routine, args) = inserted(n + 3);
            // Refused before what has a mask.
            let _ = ins.insert_predicated_call(IPoint::Before, routine, &args);
            for point in [IPoint::Before, IPoint::After, IPoint::TakenBranch] {
                let (routine, args) = deciding(n);
                if let Ok(decided) = ins.insert_if(point, routine, &args) {
                    let (routine, args) = inserted(n + 4);
                    decided.then(routine, &args).unwrap();
                }
            }
        }
    }
}

/// The test's own machine code and constants.
struct OwnCode {
    memory: File,
    constant: Vec<Range<u64>>,
}

impl OwnCode {
    fn new() -> Self {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let own = std::env::current_exe().unwrap();
        let own: Vec<&str> = maps
            .lines()
            .filter(|line| line.ends_with(own.to_str().unwrap()))
            .collect();
        let code = own.iter().position(|line| line.contains("r-xp")).unwrap();
        // Constants that depend on where the program lies come behind the code.
        let constant = own[..=code].iter().map(|line| range(line)).collect();
        let memory = File::open("/proc/self/mem").unwrap();
        Self { memory, constant }
    }
}

fn range(line: &str) -> Range<u64> {
    let (start, rest) = line.split_once('-').unwrap();
    let (end, _) = rest.split_once(' ').unwrap();
    let number = |text| u64::from_str_radix(text, 16).unwrap();
    number(start)..number(end)
}

impl CodeBytes for OwnCode {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.constant(address, buffer)
    }

    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
        if !self.constant.iter().any(|range| range.contains(&address)) {
            return 0;
        }
        self.memory.read_at(buffer, address).unwrap_or(0)
    }

    fn link(&self, _place: u64) -> Option<u64> {
        None
    }
}
