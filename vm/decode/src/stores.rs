//! What an instruction is about to store, and whether it may be executed twice: for
//! checks that run the same code from the same state once more.

use super::origin::{Registers, Surroundings, value};
use crate::{Ins, InsReader, Kind, effects};
use alloc::vec::Vec;
use iced_x86::{Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, UsedMemory};
use ppin_abi::addr::AppPc;

/// Memory by address and length.
pub type Stretch = (u64, u64);

const RCX: usize = 1;
const RDI: usize = 7;
/// DF in rflags.
const DOWNWARDS: u64 = 0x400;
/// Bytes that one instruction may store.
const MOST: u64 = 16 << 10;

/// The memory that the instruction at `pc` stores to if it is executed in this state.
/// `None`: it cannot be repeated (its result depends on more than registers and memory,
/// or the kernel hears of it), or it cannot be told where it stores.
#[must_use]
pub fn stores(
    pc: AppPc,
    bytes: &[u8],
    registers: &Registers,
    flags: u64,
    around: &dyn Surroundings,
) -> Option<Vec<Stretch>> {
    let ins = InsReader::new(pc, bytes).read().ok()?;
    if !repeatable(&ins) {
        return None;
    }
    let raw = &ins.raw;
    if raw.is_string_instruction() && (raw.has_rep_prefix() || raw.has_repne_prefix()) {
        return repeated(raw, registers, flags);
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info_options(raw, InstructionInfoOptions::NO_REGISTER_USAGE);
    let written = info
        .used_memory()
        .iter()
        .filter(|used| effects::writes(used.access()));
    written
        .map(|used| stretch(used, registers, around))
        .collect()
}

fn repeatable(ins: &Ins) -> bool {
    use Mnemonic::{
        Clui, Clzero, Cpuid, Rdpid, Rdpkru, Rdpmc, Rdrand, Rdseed, Rdtsc, Rdtscp, Stui, Tpause,
        Umwait, Wrfsbase, Wrpkru, Xgetbv, Xrstor, Xrstor64, Xtest,
    };
    let by_kind = ins.kind.is_plain() && !matches!(ins.kind, Kind::PopFlags | Kind::GsBase)
        || matches!(
            ins.kind,
            Kind::Jump
                | Kind::CondJump
                | Kind::ShortJump
                | Kind::Call
                | Kind::IndirectJump
                | Kind::IndirectCall
                | Kind::Ret
        );
    let unforeseeable = matches!(
        ins.raw.mnemonic(),
        Clui | Clzero
            | Cpuid
            | Rdpid
            | Rdpkru
            | Rdpmc
            | Rdrand
            | Rdseed
            | Rdtsc
            | Rdtscp
            | Stui
            | Tpause
            | Umwait
            | Wrfsbase
            | Wrpkru
            | Xgetbv
            | Xrstor
            | Xrstor64
            | Xtest
    );
    let writes = || effects::writes_memory(&ins.raw, &mut InstructionInfoFactory::new());
    let elsewhere = effects::is_bit_string(&ins.raw) && writes();
    by_kind && !unforeseeable && !elsewhere
}

fn stretch(used: &UsedMemory, registers: &Registers, around: &dyn Surroundings) -> Option<Stretch> {
    let len = used.memory_size().size() as u64;
    if len == 0 || used.index().is_vector_register() {
        return None;
    }
    let at = used.virtual_address(0, |register, _, _| value(register, registers, around))?;
    Some((at, len))
}

/// All rounds of a repeated string instruction.
fn repeated(raw: &Instruction, registers: &Registers, flags: u64) -> Option<Vec<Stretch>> {
    use Mnemonic::{Cmpsb, Cmpsd, Cmpsq, Cmpsw, Lodsb, Lodsd, Lodsq, Lodsw};
    use Mnemonic::{Movsb, Movsd, Movsq, Movsw, Stosb, Stosd, Stosq, Stosw};
    use Mnemonic::{Scasb, Scasd, Scasq, Scasw};
    match raw.mnemonic() {
        Movsb | Movsw | Movsd | Movsq | Stosb | Stosw | Stosd | Stosq => {}
        Cmpsb | Cmpsw | Cmpsd | Cmpsq | Lodsb | Lodsw | Lodsd | Lodsq | Scasb | Scasw | Scasd
        | Scasq => return Some(Vec::new()),
        _ => return None,
    }
    let wide = raw.op_kinds().any(|kind| {
        matches!(
            kind,
            iced_x86::OpKind::MemoryESRDI | iced_x86::OpKind::MemorySegRSI
        )
    });
    let len = registers[RCX].checked_mul(raw.memory_size().size() as u64)?;
    (wide && flags & DOWNWARDS == 0 && len <= MOST).then(|| {
        let all = (registers[RDI], len);
        Vec::from_iter((len != 0).then_some(all))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    struct Bases;
    impl Surroundings for Bases {
        fn word(&self, _address: u64) -> Option<u64> {
            None
        }
        fn segment_base(&self, gs: bool) -> u64 {
            if gs { 0x100 } else { 0x200 }
        }
    }

    fn of(bytes: &[u8]) -> Option<Vec<Stretch>> {
        let mut registers = [0; 16];
        (registers[0], registers[RCX], registers[RDI]) = (0x5000, 3, 0x7000);
        registers[4] = 0x9000;
        stores(AppPc(0x1000), bytes, &registers, 0, &Bases)
    }

    #[test]
    fn operands_and_the_stack() {
        assert_eq!(of(&[0x89, 0x48, 4]), Some(vec![(0x5004, 4)])); // mov [rax+4], ecx
        assert_eq!(of(&[0x8b, 0x48, 4]), Some(vec![])); // mov ecx, [rax+4]
        assert_eq!(of(&[0x89, 0x0d, 0, 1, 0, 0]), Some(vec![(0x1106, 4)])); // mov [rip+0x100], ecx
        assert_eq!(of(&[0x50]), Some(vec![(0x8ff8, 8)])); // push rax
        assert_eq!(of(&[0xe8, 0, 0, 0, 0]), Some(vec![(0x8ff8, 8)])); // call
        assert_eq!(of(&[0x64, 0x89, 0x08]), Some(vec![(0x5200, 4)])); // mov fs:[rax], ecx
        assert_eq!(of(&[0x65, 0x89, 0x08]), Some(vec![(0x5100, 4)]));
        assert_eq!(of(&[0x0f, 0xa3, 0x00]), Some(vec![])); // bt [rax], eax
        assert_eq!(of(&[0x0f, 0xba, 0x28, 3]), Some(vec![(0x5000, 4)])); // bts dword [rax], 3
    }

    #[test]
    fn strings_whole() {
        assert_eq!(of(&[0xf3, 0xa4]), Some(vec![(0x7000, 3)])); // rep movsb
        assert_eq!(of(&[0xf3, 0x48, 0xab]), Some(vec![(0x7000, 24)])); // rep stosq
        assert_eq!(of(&[0xf3, 0xa6]), Some(vec![])); // repe cmpsb
        assert_eq!(of(&[0xa5]), Some(vec![(0x7000, 4)])); // movsd
    }

    #[test]
    fn what_cannot_be_repeated() {
        for bytes in [
            &[0x0f, 0x05][..],                        // syscall
            &[0x0f, 0x31],                            // rdtsc
            &[0x0f, 0xa2],                            // cpuid
            &[0x9d],                                  // popfq
            &[0x0f, 0x0b],                            // ud2
            &[0xcd, 0x80],                            // int 0x80
            &[0x0f, 0x01, 0xfc],                      // clzero
            &[0x0f, 0xab, 0x00],                      // bts [rax], eax
            &[0x0f, 0xae, 0x20],                      // xsave [rax]
            &[0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x0c, 0], // vpscatterdd [rax+zmm0]{k1}, zmm1
            &[],
        ] {
            assert_eq!(of(bytes), None, "{bytes:02x?}");
        }
    }
}
