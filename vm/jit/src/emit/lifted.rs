//! Instructions of lifted routines, with registers in place of their virtual ones.

use super::writer::Writer;
use iced_x86::{Encoder, Instruction, OpKind, Register};
use ppin_form::{Gpr, LiftedUses};
use ppin_lift::body::Lifted;

impl Writer<'_> {
    pub(super) fn lifted(&mut self, ins: u16, uses: LiftedUses) {
        let lifted = self.form.lifted[usize::from(ins)];
        let registers = uses.temps.map(|temp| self.allocation.register(temp));
        let ins = renamed(&lifted, registers);
        let encoder = self.encoder.get_or_insert_with(|| Encoder::new(64));
        let encoded = encoder.encode(&ins, 0);
        debug_assert!(encoded.is_ok(), "{encoded:?}");
        let mut bytes = encoder.take_buffer();
        self.emitter.hot.bytes(&bytes);
        bytes.clear();
        encoder.set_buffer(bytes);
    }
}

/// The instruction on `registers`, in the order of its virtual registers.
fn renamed(lifted: &Lifted, registers: [Gpr; 4]) -> Instruction {
    let named = lifted.reads | lifted.writes;
    let register_for = |register: Register| {
        let full = register.full_register();
        if !full.is_gpr64() {
            return register;
        }
        let place = (named & ((1 << full.number()) - 1)).count_ones();
        of_size(registers[place as usize & 3], register.size())
    };
    let mut ins = lifted.ins;
    for n in 0..ins.op_count() {
        if ins.op_kind(n) == OpKind::Register {
            let register = register_for(ins.op_register(n));
            ins.set_op_register(n, register);
        }
    }
    ins.set_memory_base(register_for(ins.memory_base()));
    ins.set_memory_index(register_for(ins.memory_index()));
    ins
}

/// The low `size` bytes of `register`.
fn of_size(register: Gpr, size: usize) -> Register {
    let number = u32::from(register.number());
    match size {
        8 => Register::RAX + number,
        4 => Register::EAX + number,
        2 => Register::AX + number,
        // Between the first four and the others lie the second bytes.
        _ if number < 4 => Register::AL + number,
        _ => Register::SPL + (number - 4),
    }
}
