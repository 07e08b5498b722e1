//! What is said of an instruction, and whether its execution agrees.

use super::machine::{Machine, Outcome, State, WORDS};
use super::words::{LONGEST, Random};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind,
    Register, RflagsBits,
};
use ppin_abi::addr::AppPc;
use ppin_abi::optimize::Optimize;
use ppin_decode::origin::Surroundings;
use ppin_decode::stores::stores;
use ppin_decode::touched::Touched;
use ppin_decode::{Gpr, Ins, InsReader, based, effects};

/// Arithmetic flags, as the decoder numbers them and as they lie in rflags.
const BITS: [(u32, u64); 6] = [
    (RflagsBits::CF, 1),
    (RflagsBits::PF, 1 << 2),
    (RflagsBits::AF, 1 << 4),
    (RflagsBits::ZF, 1 << 6),
    (RflagsBits::SF, 1 << 7),
    (RflagsBits::OF, 1 << 11),
];

/// Arithmetic flags in rflags.
pub const FLAGS: u64 = 1 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 11;

const RCX: usize = 1;
const RSP: u8 = 4;

/// A claim that an execution contradicts.
pub struct Complaint {
    pub claim: &'static str,
    pub what: String,
}

/// An instruction that may be executed.
pub struct Choice {
    raw: Instruction,
    ins: Ins,
    bytes: [u8; LONGEST],
}

/// One that was.
pub struct Case {
    pub raw: Instruction,
    ins: Ins,
    bytes: [u8; LONGEST],
    state: State,
    outcome: Outcome,
}

impl Choice {
    /// The instruction that `bytes` begin with, if it does nothing but compute.
    pub fn new(bytes: [u8; LONGEST], machine: &Machine) -> Option<Self> {
        let at = machine.code();
        let raw = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE).decode();
        let computes = !raw.is_invalid()
            && raw.flow_control() == FlowControl::Next
            && !raw.is_privileged()
            && !names_segment(&raw)
            && !tells_more(raw.mnemonic());
        let ins = InsReader::new(AppPc(at), &bytes[..raw.len()]).read();
        let ins = ins.ok().filter(|_| computes)?;
        Some(Self { raw, ins, bytes })
    }

    /// Executes it; `None` if it faults.
    pub fn executed(self, random: &mut Random, machine: &mut Machine) -> Option<Case> {
        let Self { raw, ins, bytes } = self;
        machine.load(&bytes[..raw.len()]);
        let mut state = machine.state(random);
        if raw.has_rep_prefix() || raw.has_repne_prefix() {
            state.registers[RCX] = random.below(5);
        }
        if effects::is_bit_string(&raw) {
            // (No bit that is far from the operand: it may be one of this process.)
            state.registers[raw.op1_register().number() % 16] = random.below(512);
        }
        let outcome = machine.run(&state)?;
        Some(Case {
            raw,
            ins,
            bytes,
            state,
            outcome,
        })
    }
}

/// Whether it has to do with segments, whose bases are those of this process.
fn names_segment(raw: &Instruction) -> bool {
    let special = |register: Register| {
        register.is_segment_register() || register.is_cr() || register.is_dr() || register.is_tr()
    };
    let operand = |n| raw.op_kind(n) == OpKind::Register && special(raw.op_register(n));
    let prefix = matches!(raw.segment_prefix(), Register::FS | Register::GS);
    prefix || (0..raw.op_count()).any(operand)
}

/// Whether it tells what is no part of the state, or changes what this process needs.
fn tells_more(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{
        Cpuid, Fxsave, Fxsave64, Monitorx, Mwaitx, Popf, Popfq, Rdfsbase, Rdgsbase, Rdpid, Rdpkru,
        Rdpmc, Rdpru, Rdrand, Rdseed, Rdsspd, Rdsspq, Rdtsc, Rdtscp, Sgdt, Sidt, Sldt, Smsw, Std,
        Str, Tpause, Umonitor, Umwait, Wrfsbase, Wrgsbase, Wrpkru, Xgetbv, Xrstor, Xrstor64, Xsave,
        Xsave64, Xsavec, Xsavec64, Xsaveopt, Xsaveopt64,
    };
    let time = matches!(
        mnemonic,
        Rdtsc | Rdtscp | Rdpru | Tpause | Umwait | Rdpmc | Mwaitx
    );
    let system = matches!(
        mnemonic,
        Cpuid | Rdpid | Sgdt | Sidt | Sldt | Smsw | Str | Xgetbv
    );
    let random = matches!(mnemonic, Rdrand | Rdseed | Monitorx | Umonitor);
    let own = matches!(
        mnemonic,
        Rdfsbase | Rdgsbase | Wrfsbase | Wrgsbase | Rdpkru | Wrpkru | Rdsspd | Rdsspq
    );
    // (The last instruction and operand of the x87 are in these.)
    let whole = matches!(
        mnemonic,
        Xrstor | Xrstor64 | Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt | Xsaveopt64
    ) || matches!(mnemonic, Fxsave | Fxsave64);
    time || system || random || own || whole || matches!(mnemonic, Popf | Popfq | Std)
}

/// Nothing is read beside registers.
struct NoSurroundings;

impl Surroundings for NoSurroundings {
    fn word(&self, _: u64) -> Option<u64> {
        None
    }

    fn segment_base(&self, _: bool) -> u64 {
        0
    }
}

impl Case {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.raw.len()]
    }

    /// Claims that it contradicts.
    pub fn complaints(&self, random: &mut Random, machine: &mut Machine) -> Vec<Complaint> {
        if machine.run(&self.state).as_ref() != Some(&self.outcome) {
            let claim = "it does the same each time";
            let what = String::new();
            return vec![Complaint { claim, what }];
        }
        let mut found = self.of_memory(machine);
        found.extend((0..16).filter_map(|number| self.of_value(number)));
        found.extend(BITS.iter().filter_map(|flag| self.of_flag(*flag, machine)));
        let registers = (0..16).filter(|number| *number != RSP);
        found.extend(registers.filter_map(|number| self.of_register(number, random, machine)));
        found
    }

    /// Addresses of bytes of memory that it has changed.
    fn changed(&self, machine: &Machine) -> Vec<u64> {
        let byte = |n: usize| {
            let of = |words: &[u64]| words[n / 8].to_le_bytes()[n % 8];
            of(&machine.before) != of(&self.outcome.memory)
        };
        let changed = (0..8 * WORDS).filter(|n| byte(*n));
        changed.map(|n| machine.memory() + n as u64).collect()
    }

    fn of_memory(&self, machine: &Machine) -> Vec<Complaint> {
        let changed = self.changed(machine);
        let mut found = Vec::new();
        if !changed.is_empty() && !effects::writes_memory(&self.raw) {
            found.push(("it writes no memory", changed[0]));
        }
        let (registers, flags) = (&self.state.registers, self.state.flags);
        let told = stores(
            AppPc(machine.code()),
            self.bytes(),
            registers,
            flags,
            &NoSurroundings,
        );
        let within = |at: &u64| {
            let mut told = told.iter().flatten();
            told.any(|(start, len)| at.wrapping_sub(*start) < *len)
        };
        if let Some(at) = changed.iter().find(|at| told.is_some() && !within(at)) {
            found.push(("it stores nowhere else", *at));
        }
        if let Some(store) = based::store(&self.raw) {
            let base = registers[usize::from(store.base.number())];
            let start = base.wrapping_add_signed(store.disp.into());
            let outside = |at: &&u64| at.wrapping_sub(start) >= store.len.into();
            let outside = changed.iter().find(outside);
            found.extend(outside.map(|at| ("it stores by its base", *at)));
        }
        let complaint = |(claim, at)| Complaint {
            claim,
            what: format!("{at:#x}"),
        };
        found.into_iter().map(complaint).collect()
    }

    /// What becomes of the value of a register.
    fn of_value(&self, number: u8) -> Option<Complaint> {
        let changed = Touched::of(&self.ins, &mut InstructionInfoFactory::new()).changed;
        let at = usize::from(number);
        let (before, after) = (self.state.registers[at], self.outcome.state.registers[at]);
        let (claim, wrong) = match based::stack_moves(&self.raw) {
            _ if !changed.contains(Gpr::new(number)) => {
                ("it leaves the register alone", after != before)
            }
            Some(by) if number == RSP => {
                let moved = before.wrapping_add_signed(by.into());
                ("it only moves the stack pointer", after != moved)
            }
            _ => return None,
        };
        let what = format!("register {number}");
        wrong.then_some(Complaint { claim, what })
    }

    /// Flags that processors may leave in any state.
    fn undefined(&self) -> u64 {
        let undefined = self.raw.rflags_undefined();
        let is = |flag: &&(u32, u64)| undefined & flag.0 != 0;
        BITS.iter().filter(is).map(|flag| flag.1).sum()
    }

    /// With another value of a flag that it is said not to read.
    fn of_flag(&self, (flag, bit): (u32, u64), machine: &mut Machine) -> Option<Complaint> {
        if effects::flags_read(&self.raw) & flag != 0 {
            return None;
        }
        let mut state = self.state;
        state.flags ^= bit;
        let killed = effects::flags_killed(&self.raw, Optimize::ALL) & flag != 0;
        let (claim, mask) = match killed {
            true => ("it surely overwrites the flag", 0),
            false => ("it does not read the flag", bit | self.undefined()),
        };
        let other = machine.run(&state);
        let same = other.is_some_and(|other| self.is_same(other, mask, None));
        (!same).then(|| Complaint {
            claim,
            what: format!("bit {bit:#x} of rflags"),
        })
    }

    /// With another value of a register that it is said not to need.
    fn of_register(
        &self,
        number: u8,
        random: &mut Random,
        machine: &mut Machine,
    ) -> Option<Complaint> {
        let touched = Touched::of(&self.ins, &mut InstructionInfoFactory::new());
        let register = Gpr::new(number);
        if touched.needed.contains(register) {
            return None;
        }
        let mut state = self.state;
        state.registers[usize::from(number)] ^= random.word();
        let kept = state.registers[usize::from(number)];
        let (claim, kept) = match touched.overwritten.contains(register) {
            true => ("it surely overwrites the register", None),
            false => ("it does not touch the register", Some((number, kept))),
        };
        let other = machine.run(&state);
        let same = other.is_some_and(|other| self.is_same(other, self.undefined(), kept));
        (!same).then(|| Complaint {
            claim,
            what: format!("register {number}"),
        })
    }

    /// Whether `other` is the same outcome, but for the flags in `mask`; a register may have a value of its own,
    /// which stays.
    fn is_same(&self, mut other: Outcome, mask: u64, kept: Option<(u8, u64)>) -> bool {
        let own = &self.outcome.state;
        other.state.flags = other.state.flags & !mask | own.flags & mask;
        if let Some((number, value)) = kept {
            let number = usize::from(number);
            let stays = other.state.registers[number] == value
                && own.registers[number] == self.state.registers[number];
            if !stays {
                return false;
            }
            other.state.registers[number] = own.registers[number];
        }
        other == self.outcome
    }
}
