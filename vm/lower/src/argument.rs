//! Arguments of analysis calls, in the form of the record that the bridge reads.

use ppin_abi::addr::ImageOff;
use ppin_abi::record::{ArgKind, CallArg, NO_REG};
use ppin_api::compiler::Value;
use ppin_api::{Address, Reg, Segment, StateId};

/// `value`, as the bridge is told of it.
pub fn call_arg(value: Value) -> CallArg {
    match value {
        Value::Const(value) => plain(ArgKind::Const, value),
        Value::App(off) => image(ArgKind::AppAddr, off),
        Value::Reg(reg) => CallArg {
            base: reg as u8,
            ..plain(ArgKind::Reg, 0)
        },
        Value::Memory(address) => memory(address),
        Value::ThreadId => plain(ArgKind::ThreadId, 0),
        Value::State(StateId(id)) => plain(ArgKind::State, u64::from(id)),
    }
}

fn memory(address: Address) -> CallArg {
    match address {
        Address::Image(off) => image(ArgKind::ImageAddr, off),
        Address::Sum {
            segment,
            base,
            index,
            scale,
            displacement,
            narrow,
        } => CallArg {
            base: number(base),
            index: number(index),
            scale_seg: scale | segment_bit(segment) | u8::from(narrow) << 6,
            ..plain(ArgKind::EffectiveAddr, displacement)
        },
    }
}

fn segment_bit(segment: Option<Segment>) -> u8 {
    match segment {
        Some(Segment::Fs) => 1 << 4,
        Some(Segment::Gs) => 1 << 5,
        None => 0,
    }
}

fn number(reg: Option<Reg>) -> u8 {
    reg.map_or(NO_REG, |reg| reg as u8)
}

fn image(kind: ArgKind, off: ImageOff) -> CallArg {
    plain(kind, u64::from(off.0.cast_unsigned()))
}

/// An argument without registers.
fn plain(kind: ArgKind, value: u64) -> CallArg {
    CallArg {
        kind: kind as u8,
        base: NO_REG,
        index: NO_REG,
        scale_seg: 0,
        value: [value as u32, (value >> 32) as u32],
    }
}
