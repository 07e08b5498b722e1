//! What the CPU has answered to `cpuid`, where that is the same at all times and on all processors.
//!
//! A virtual machine's monitor answers `cpuid`, which takes microseconds; the loader of a program
//! asks some seventy times, mostly the same. Emitted code finds known answers by itself
//! ([`crate::gate::cpuid`]); what is asked first comes here.
//!
//! Not kept: numbers of processors (leaves 0xb and 0x1f), leaves that are not listed, and all leaves
//! where processors differ among themselves. (Intel SDM volume 2, `CPUID`; AMD APM volume 3, appendix E.)
//! Leaf 1 has the processor's number beside what all need to know: its answer is kept for threads that run
//! where it was given.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use ppin_abi::cpuid::{Answer, Registers};
use ppin_os::processor;

/// What an entry says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// Nothing: neither it nor any behind it.
    End = 0,
    /// The answer.
    Kept = 1,
    /// The CPU must be asked each time.
    Changes = 2,
    /// The answer of the processor whose number ([`processor::current`]) is in `subleaf`.
    Here = 3,
}

/// One leaf, or one of its subleaves. The gate reads it; it is written once, `state` last.
#[derive(Debug)]
#[repr(C)]
pub struct Entry {
    /// What eax asks for.
    pub leaf: AtomicU32,
    /// What ecx asks for, in the bits of `mask`.
    pub subleaf: AtomicU32,
    /// The bits of ecx that matter: all or none.
    pub mask: AtomicU32,
    /// A [`State`].
    pub state: AtomicU32,
    /// The answer.
    pub registers: [AtomicU32; 4],
}

impl Entry {
    const fn unused() -> Self {
        Self {
            leaf: AtomicU32::new(0),
            subleaf: AtomicU32::new(0),
            mask: AtomicU32::new(0),
            state: AtomicU32::new(State::End as u32),
            registers: [const { AtomicU32::new(0) }; 4],
        }
    }

    fn is(&self, state: State) -> bool {
        self.state.load(Ordering::Acquire) == state as u32
    }

    fn answers(&self, leaf: u32, subleaf: u32) -> bool {
        let read = |word: &AtomicU32| word.load(Ordering::Relaxed);
        read(&self.leaf) == leaf && (read(&self.subleaf) ^ subleaf) & read(&self.mask) == 0
    }

    fn registers(&self) -> Registers {
        [0, 1, 2, 3].map(|n| self.registers[n].load(Ordering::Relaxed))
    }

    fn write(&self, key: [u32; 3], state: State, registers: Registers) {
        let words = [&self.leaf, &self.subleaf, &self.mask].into_iter();
        let words = words.chain(&self.registers);
        for (word, value) in words.zip(key.into_iter().chain(registers)) {
            word.store(value, Ordering::Relaxed);
        }
        self.state.store(state as u32, Ordering::Release);
    }

    fn answer(&self) -> Answer {
        let read = |word: &AtomicU32| word.load(Ordering::Relaxed);
        Answer {
            leaf: read(&self.leaf),
            subleaf: read(&self.subleaf),
            mask: read(&self.mask),
            registers: self.registers(),
        }
    }
}

/// More than a loader asks for. The last is never used.
const ENTRIES: usize = 64;

/// What is known.
pub static ANSWERS: [Entry; ENTRIES] = [const { Entry::unused() }; ENTRIES];

/// Not 0: the CPU must be asked each time.
pub static CLOSED: AtomicU32 = AtomicU32::new(0);

/// From now on the CPU is asked each time.
pub fn close() {
    CLOSED.store(1, Ordering::Relaxed);
}

/// Entries of [`ANSWERS`] with answers that are in the database, as far as this process knows.
static SAVED: AtomicU32 = AtomicU32::new(0);

/// What is known now.
#[must_use]
pub fn known() -> Vec<Answer> {
    let kept = ANSWERS.iter().filter(|entry| entry.is(State::Kept));
    kept.map(Entry::answer).collect()
}

/// Whether nothing is known.
#[must_use]
pub fn is_empty() -> bool {
    ANSWERS[0].is(State::End)
}

/// Takes what is `known` over, where nothing is known yet. Under the VM lock.
pub fn recall(known: &[Answer]) {
    // The first two entries say which leaves there are.
    let mut leaves = known.iter().map(|is| is.leaf);
    if [leaves.next(), leaves.next()] != [Some(0), Some(EXTENDED)] {
        return;
    }
    for is in known {
        let key = [is.leaf, is.subleaf, is.mask];
        put(&ANSWERS, key, State::Kept, is.registers);
    }
    settle();
}

/// Whether there are answers that are not in the database.
#[must_use]
pub fn has_learnt() -> bool {
    count() > SAVED.load(Ordering::Relaxed)
}

/// What is known now is in the database, or will be.
pub fn settle() {
    SAVED.store(count(), Ordering::Relaxed);
}

fn count() -> u32 {
    let kept = ANSWERS.iter().filter(|entry| entry.is(State::Kept));
    kept.count() as u32
}

/// Version and features of the processor, and the number of the one that was asked.
const VERSION: u32 = 1;

/// What leaf 1 says of the processor, wherever the thread runs: its version and its features. The CPU is
/// asked once.
#[must_use]
pub fn version() -> [u32; 3] {
    let [eax, _, ecx, edx] = first_version().registers();
    [eax, ecx, edx]
}

/// The first answer to leaf 1.
fn first_version() -> &'static Entry {
    static FIRST: Entry = Entry::unused();
    if FIRST.is(State::End) {
        let (registers, here) = ask_here(cpu);
        let (number, state) = (here.unwrap_or(0), state_of(here));
        FIRST.write([VERSION, number, 0], state, registers);
    }
    &FIRST
}

/// Asks for leaf 1; which processor has answered, if that is known.
fn ask_here(cpu: impl Fn(u32, u32) -> Registers) -> (Registers, Option<u32>) {
    let before = processor::current();
    let registers = cpu(VERSION, 0);
    (registers, before.filter(|_| processor::current() == before))
}

const fn state_of(here: Option<u32>) -> State {
    match here {
        Some(_) => State::Here,
        None => State::Changes,
    }
}

/// The answer to leaf 1 for where the thread runs; it need not be asked for if it was.
fn version_here() -> (Registers, Option<u32>) {
    let first = first_version();
    let number = first.subleaf.load(Ordering::Relaxed);
    if first.is(State::Here) && processor::current() == Some(number) {
        return (first.registers(), Some(number));
    }
    ask_here(cpu)
}

fn cpu(leaf: u32, subleaf: u32) -> Registers {
    let is = core::arch::x86_64::__cpuid_count(leaf, subleaf);
    [is.eax, is.ebx, is.ecx, is.edx]
}

/// What the CPU answers; it is kept where it always answers so. Under the VM lock.
pub fn ask(leaf: u32, subleaf: u32) -> Registers {
    learn(&ANSWERS, cpu, version_here, leaf, subleaf).unwrap_or_else(|| {
        close();
        cpu(leaf, subleaf)
    })
}

/// Asks `cpu`, for leaf 1 `version`, and adds what it says to `known`; `None` if its processors differ.
fn learn(
    known: &[Entry],
    cpu: impl Fn(u32, u32) -> Registers,
    version: impl Fn() -> (Registers, Option<u32>),
    leaf: u32,
    subleaf: u32,
) -> Option<Registers> {
    if known[0].is(State::End) && !begin(known, &cpu) {
        return None;
    }
    let answers = |entry: &&Entry| entry.is(State::Kept) && entry.answers(leaf, subleaf);
    if let Some(entry) = known.iter().find(answers) {
        return Some(entry.registers());
    }
    if leaf == VERSION {
        let (registers, here) = version();
        put(
            known,
            [leaf, here.unwrap_or(0), 0],
            state_of(here),
            registers,
        );
        return Some(registers);
    }
    let registers = cpu(leaf, subleaf);
    let [most, extended] = [0, 1].map(|n| known[n].registers()[0]);
    let exists = (0..=most).contains(&leaf) || (EXTENDED..=extended).contains(&leaf);
    let (state, mask) = match lasting(leaf) {
        Some(mask) if exists => (State::Kept, mask),
        Some(mask) => (State::Changes, mask),
        None => (State::Changes, 0),
    };
    put(known, [leaf, subleaf & mask, mask], state, registers);
    Some(registers)
}

/// The first of the leaves that AMD has added.
const EXTENDED: u32 = 0x8000_0000;
/// What xsave keeps. Its first two subleaves depend on what is switched on in xcr0 and IA32_XSS, which
/// the kernel does once, when it boots.
const XSAVE: u32 = 0xd;

/// The bits of ecx that the answer depends on, if on nothing else.
const fn lasting(leaf: u32) -> Option<u32> {
    match leaf {
        0 | 2 | 0x15 | 0x16 | 0x19 | EXTENDED..=0x8000_0008 => Some(0),
        4 | 7 | XSAVE | 0x14 | 0x8000_001d => Some(u32::MAX),
        _ => None,
    }
}

/// Asks what tells whether all processors are alike; if so, these are the first answers. Every
/// loader asks for them, too.
fn begin(known: &[Entry], cpu: impl Fn(u32, u32) -> Registers) -> bool {
    /// Leaf 7, edx: `Hybrid`.
    const HYBRID: u32 = 1 << 15;
    /// Leaf 0x8000_0026, eax: `HeterogeneousCores`.
    const HETEROGENEOUS: u32 = 1 << 30;
    const TOPOLOGY: u32 = 0x8000_0026;
    let [most, extended] = [0, EXTENDED].map(|leaf| cpu(leaf, 0));
    let features = (most[0] >= 7).then(|| cpu(7, 0));
    let topology = (EXTENDED..=extended[0]).contains(&TOPOLOGY);
    let differ = features.is_some_and(|seven| seven[3] & HYBRID != 0)
        || topology && cpu(TOPOLOGY, 0)[0] & HETEROGENEOUS != 0;
    if differ {
        return false;
    }
    put(known, [0, 0, 0], State::Kept, most);
    put(known, [EXTENDED, 0, 0], State::Kept, extended);
    if let Some(features) = features {
        put(known, [7, 0, u32::MAX], State::Kept, features);
    }
    true
}

/// Adds an entry, if there is room.
fn put(known: &[Entry], key: [u32; 3], state: State, registers: Registers) {
    let (_last, entries) = known.split_last().expect("room for the end");
    let Some(free) = entries.iter().find(|entry| entry.is(State::End)) else {
        return;
    };
    free.write(key, state, registers);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A processor that counts how often it is asked.
    struct Cpu {
        hybrid: bool,
        asked: Cell<u32>,
    }

    impl Cpu {
        fn answer(&self, leaf: u32, subleaf: u32) -> Registers {
            self.asked.set(self.asked.get() + 1);
            match leaf {
                0 => [0x16, 1, 2, 3],
                EXTENDED => [0x8000_0008, 0, 0, 0],
                7 => [0, 0, 0, u32::from(self.hybrid) << 15],
                _ => [leaf, subleaf, self.asked.get(), 0],
            }
        }
    }

    /// Leaf 1 of a processor that has no number.
    fn nowhere() -> (Registers, Option<u32>) {
        ([0; 4], None)
    }

    fn known() -> [Entry; ENTRIES] {
        [const { Entry::unused() }; ENTRIES]
    }

    #[test]
    fn what_does_not_change_is_asked_once() {
        let cpu = Cpu {
            hybrid: false,
            asked: Cell::new(0),
        };
        let known = known();
        let ask =
            |leaf, subleaf| learn(&known, |l, s| cpu.answer(l, s), nowhere, leaf, subleaf).unwrap();
        assert_eq!(ask(0, 77), [0x16, 1, 2, 3]);
        let first = [(2, 5), (4, 0), (4, 1), (XSAVE, 0)].map(|(l, s)| ask(l, s));
        let asked = cpu.asked.get();
        let again = [(2, 9), (4, 0), (4, 1), (XSAVE, 0)].map(|(l, s)| ask(l, s));
        assert_eq!(first, again);
        assert_eq!(cpu.asked.get(), asked);
        assert_ne!(first[1], first[2], "subleaves have answers of their own");
    }

    #[test]
    fn what_may_change_or_is_not_there_is_asked_each_time() {
        let cpu = Cpu {
            hybrid: false,
            asked: Cell::new(0),
        };
        let known = known();
        for (leaf, subleaf) in [(0xb, 1), (0x19, 0), (0x8000_001d, 0)] {
            let ask = || learn(&known, |l, s| cpu.answer(l, s), nowhere, leaf, subleaf).unwrap();
            assert_ne!(ask(), ask(), "leaf {leaf:#x}");
            let noted = known.iter().find(|entry| entry.answers(leaf, subleaf));
            assert!(
                noted.is_some_and(|entry| entry.is(State::Changes)),
                "leaf {leaf:#x}"
            );
        }
    }

    #[test]
    fn leaf_1_is_kept_with_the_processor_that_has_answered() {
        let cpu = Cpu {
            hybrid: false,
            asked: Cell::new(0),
        };
        let learnt = |here| {
            let known = known();
            let version = || ([1, 2, 3, 4], here);
            let registers = learn(&known, |l, s| cpu.answer(l, s), version, VERSION, 9);
            assert_eq!(registers, Some([1, 2, 3, 4]));
            let entry = known.iter().find(|entry| entry.answers(VERSION, 0));
            entry.map(|entry| (entry.is(State::Here), entry.subleaf.load(Ordering::Relaxed)))
        };
        assert_eq!(learnt(Some(7)), Some((true, 7)));
        assert_eq!(learnt(None), Some((false, 0)));
    }

    #[test]
    fn the_version_is_that_of_leaf_1() {
        let [eax, _, ecx, edx] = super::cpu(VERSION, 0);
        assert_eq!(version(), [eax, ecx, edx]);
        assert_eq!(version_here().0[0], eax);
    }

    #[test]
    fn nothing_is_kept_where_processors_differ() {
        let cpu = Cpu {
            hybrid: true,
            asked: Cell::new(0),
        };
        let known = known();
        assert_eq!(learn(&known, |l, s| cpu.answer(l, s), nowhere, 4, 0), None);
        assert!(known[0].is(State::End));
    }

    #[test]
    fn a_full_table_has_an_end() {
        let cpu = Cpu {
            hybrid: false,
            asked: Cell::new(0),
        };
        let known = known();
        for subleaf in 0..2 * ENTRIES as u32 {
            learn(&known, |l, s| cpu.answer(l, s), nowhere, 4, subleaf);
        }
        assert!(known[ENTRIES - 2].is(State::Kept) && known[ENTRIES - 1].is(State::End));
    }
}
