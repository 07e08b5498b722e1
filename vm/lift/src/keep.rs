//! Instructions that stay in a body: their operands are put into virtual registers, or made part
//! of the instruction.

use crate::address::{Part, Place};
use crate::body::{Lifted, Step, Why};
use crate::fixed::is_fixed;
use crate::fold::ARITHMETIC;
use crate::operand::{general, operand_size, register_of};
use crate::values::{RSP, State, Value};
use alloc::vec::Vec;
use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// Most registers of one instruction.
const MOST_REGISTERS: u32 = 4;

/// Adds `ins` to `steps`.
pub(crate) fn keep(
    state: &mut State,
    steps: &mut Vec<Step>,
    ins: &Instruction,
    place: Option<Place>,
) -> Result<(), Why> {
    let mut ins = *ins;
    match place {
        None => {}
        Some(Place::Sum {
            base,
            index,
            number,
        }) => set_memory(state, &mut ins, base, index, number)?,
        // An address of the object is had by its register only.
        Some(Place::Object(_)) if has_object_register(state, &ins) => {
            let (base, index) = (ins.memory_base(), ins.memory_index());
            let parts = [base, index].map(|register| match general(register) {
                Some(n) if matches!(state.registers[n], Value::Object { .. }) => {
                    Part::Register(register)
                }
                _ => Part::None,
            });
            let number = known_part(state, &ins);
            set_memory(state, &mut ins, parts[0], parts[1], number)?;
        }
        Some(_) => return Err(Why::Memory),
    }
    with_immediate(state, &mut ins);
    let lifted = lifted(&ins)?;
    provide(state, steps, &lifted)?;
    let pointer = lifted.reads & pointers(state) != 0 || reads_memory(&ins);
    steps.push(Step::Ins(lifted));
    for n in (0..16).filter(|n| lifted.writes & 1 << n != 0) {
        state.registers[n] = Value::Dynamic { pointer };
    }
    state.stored |= lifted.stores;
    Ok(())
}

fn pointers(state: &State) -> u16 {
    let mut set = 0;
    for (n, value) in state.registers.iter().enumerate() {
        set |= u16::from(value.is_pointer()) << n;
    }
    set
}

fn reads_memory(ins: &Instruction) -> bool {
    ins.mnemonic() != Mnemonic::Lea && (0..ins.op_count()).any(|n| ins.op_kind(n) == OpKind::Memory)
}

fn has_object_register(state: &State, ins: &Instruction) -> bool {
    let mut registers = [ins.memory_base(), ins.memory_index()]
        .into_iter()
        .filter_map(general);
    registers.any(|n| matches!(state.registers[n], Value::Object { .. }))
}

/// The displacement, with what is known of the registers.
fn known_part(state: &State, ins: &Instruction) -> i64 {
    let scale = u64::from(ins.memory_index_scale());
    let mut sum = ins.memory_displacement64();
    for (register, factor) in [(ins.memory_base(), 1), (ins.memory_index(), scale)] {
        if let Some(Value::Const { value, .. }) = general(register).map(|n| state.registers[n]) {
            sum = sum.wrapping_add(value.wrapping_mul(factor));
        }
    }
    sum.cast_signed()
}

/// Gives `ins` another memory operand: one that is an address which the routine has from its
/// states or its object, unless `ins` only computes it.
fn set_memory(
    state: &State,
    ins: &mut Instruction,
    base: Part,
    index: Part,
    number: i64,
) -> Result<(), Why> {
    let is_pointer = |part: Part| match part {
        Part::None => false,
        Part::Register(register) => state.registers[register.number()].is_pointer(),
    };
    if ins.mnemonic() != Mnemonic::Lea && !is_pointer(base) && !is_pointer(index) {
        return Err(Why::Memory);
    }
    let number = i32::try_from(number).map_err(|_| Why::Memory)?;
    let register = |part: Part| match part {
        Part::None => Register::None,
        Part::Register(register) => register,
    };
    let size = match (base, number) {
        (Part::None, _) => 8,
        (_, 0) => 0,
        _ => 1,
    };
    ins.set_memory_base(register(base));
    ins.set_memory_index(register(index));
    if index == Part::None {
        ins.set_memory_index_scale(1);
    }
    ins.set_memory_displacement64(i64::from(number).cast_unsigned());
    ins.set_memory_displ_size(size);
    Ok(())
}

/// Puts a known second operand into the instruction, if there is such a form.
fn with_immediate(state: &State, ins: &mut Instruction) {
    let Some(from) = register_of(ins, 1).filter(|_| ins.op_count() == 2) else {
        return;
    };
    let Value::Const { value, .. } = state.registers[from] else {
        return;
    };
    let size = operand_size(ins);
    let fits = i32::try_from(value.cast_signed()).is_ok();
    let Some(code) = immediate_form(ins.mnemonic(), size).filter(|_| size == 4 || fits) else {
        return;
    };
    if ins.op0_kind() == OpKind::Register && register_of(ins, 0).is_none() {
        return;
    }
    ins.set_code(code);
    ins.set_op1_kind(match size {
        8 => OpKind::Immediate32to64,
        _ => OpKind::Immediate32,
    });
    ins.set_immediate32(value as u32);
}

fn immediate_form(mnemonic: Mnemonic, size: usize) -> Option<Code> {
    use Mnemonic as M;
    Some(match (mnemonic, size) {
        (M::Mov, 8) => Code::Mov_rm64_imm32,
        (M::Mov, 4) => Code::Mov_rm32_imm32,
        (M::Add, 8) => Code::Add_rm64_imm32,
        (M::Add, 4) => Code::Add_rm32_imm32,
        (M::Sub, 8) => Code::Sub_rm64_imm32,
        (M::Sub, 4) => Code::Sub_rm32_imm32,
        (M::And, 8) => Code::And_rm64_imm32,
        (M::And, 4) => Code::And_rm32_imm32,
        (M::Or, 8) => Code::Or_rm64_imm32,
        (M::Or, 4) => Code::Or_rm32_imm32,
        (M::Xor, 8) => Code::Xor_rm64_imm32,
        (M::Xor, 4) => Code::Xor_rm32_imm32,
        (M::Cmp, 8) => Code::Cmp_rm64_imm32,
        (M::Cmp, 4) => Code::Cmp_rm32_imm32,
        (M::Test, 8) => Code::Test_rm64_imm32,
        (M::Test, 4) => Code::Test_rm32_imm32,
        _ => return None,
    })
}

/// A shift by a register may be one by 0, which leaves the flags.
fn is_variable_shift(ins: &Instruction) -> bool {
    (0..ins.op_count())
        .any(|n| ins.op_kind(n) == OpKind::Register && ins.op_register(n) == Register::CL)
}

/// What `ins` does with registers and memory.
pub(crate) fn lifted(ins: &Instruction) -> Result<Lifted, Why> {
    if ins.is_string_instruction() || !is_plain(ins) {
        return Err(Why::Instruction);
    }
    let mut lifted = Lifted {
        ins: *ins,
        reads: 0,
        writes: 0,
        fixed: 0,
        reads_flags: ins.rflags_read() & ARITHMETIC,
        writes_flags: ins.rflags_modified() & ARITHMETIC,
        surely: !is_variable_shift(ins),
        stores: false,
    };
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(ins);
    for used in info.used_registers() {
        let n = general(used.register()).ok_or(Why::Instruction)?;
        if n == RSP {
            return Err(Why::Stack);
        }
        let (reads, writes) = accesses(used.access());
        let whole = used.access() == OpAccess::Write && used.register().size() >= 4;
        lifted.reads |= u16::from(reads || writes && !whole) << n;
        lifted.writes |= u16::from(writes) << n;
    }
    if (lifted.reads | lifted.writes).count_ones() > MOST_REGISTERS {
        return Err(Why::Instruction);
    }
    lifted.stores = info
        .used_memory()
        .iter()
        .any(|memory| accesses(memory.access()).1);
    lifted.fixed = (lifted.reads | lifted.writes) & !renameable(ins);
    Ok(lifted)
}

fn accesses(access: OpAccess) -> (bool, bool) {
    match access {
        OpAccess::None | OpAccess::NoMemAccess => (false, false),
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write => (false, true),
        OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
    }
}

/// Registers that `ins` names, so that others can be named instead.
fn renameable(ins: &Instruction) -> u16 {
    let operands = |fixed: bool| {
        let these = (0..ins.op_count()).filter(move |n| is_fixed(ins, *n) == fixed);
        these.filter_map(|n| register_of(ins, n))
    };
    let address = [ins.memory_base(), ins.memory_index()];
    let named = operands(false).chain(address.into_iter().filter_map(general));
    let set = named.fold(0, |set, n| set | 1 << n);
    // One that is also an operand which cannot be renamed stays.
    operands(true).fold(set, |set: u16, n| set & !(1 << n))
}

/// Whether `ins` does nothing but compute.
pub(crate) fn is_plain(ins: &Instruction) -> bool {
    use Mnemonic as M;
    let computes = matches!(
        ins.mnemonic(),
        M::Mov
            | M::Movzx
            | M::Movsx
            | M::Movsxd
            | M::Lea
            | M::Add
            | M::Sub
            | M::Adc
            | M::Sbb
            | M::And
            | M::Or
            | M::Xor
            | M::Not
            | M::Neg
            | M::Inc
            | M::Dec
            | M::Cmp
            | M::Test
            | M::Imul
            | M::Mul
            | M::Shl
            | M::Shr
            | M::Sar
            | M::Rol
            | M::Ror
            | M::Shld
            | M::Shrd
            | M::Bswap
            | M::Xchg
            | M::Bsf
            | M::Bsr
            | M::Bt
            | M::Cdqe
            | M::Cdq
            | M::Cqo
            | M::Cwde
    );
    let conditional = ins.condition_code() as u8 != 0 && ins.op_count() <= 2;
    let plain = computes || conditional || matches!(ins.mnemonic(), M::Bts | M::Btr | M::Btc);
    // A bit string in memory lies elsewhere than its operand says.
    let bits = matches!(ins.mnemonic(), M::Bt | M::Bts | M::Btr | M::Btc)
        && ins.op0_kind() == OpKind::Memory;
    plain && !bits && !ins.has_lock_prefix()
}

/// Puts what is read and known into virtual registers.
fn provide(state: &mut State, steps: &mut Vec<Step>, lifted: &Lifted) -> Result<(), Why> {
    for n in (0..16).filter(|n| lifted.reads & 1 << n != 0) {
        let to = n as u8;
        match &mut state.registers[n] {
            Value::Dynamic { .. } => {}
            Value::Const { value, there } => {
                if !*there {
                    steps.push(Step::Set { to, value: *value });
                }
                *there = true;
            }
            Value::Object { address, there } => {
                if !*there {
                    let offset = address.cast_signed();
                    steps.push(Step::Object { to, offset });
                }
                *there = true;
            }
            Value::Stack(_) => return Err(Why::Stack),
            // The rest of a register of which a part is written: anything will do.
            Value::Callers(_) if lifted.writes & 1 << n != 0 => {
                steps.push(Step::Set { to, value: 0 });
            }
            Value::Callers(_) => return Err(Why::Instruction),
        }
    }
    Ok(())
}
