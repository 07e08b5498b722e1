//! What is at hand while a form becomes code.

use super::fragment::Emitter;
use alloc::vec::Vec;
use iced_x86::Encoder;
use ppin_abi::area::Entry;
use ppin_decode::Ins;
use ppin_form::allocate::Allocation;
use ppin_form::{Form, Gpr, InsId, Label, Reg};

/// What a form was made from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub ins: &'a [Ins],
    /// The app's bytes from the head on.
    pub bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        ins: &[],
        bytes: &[],
    };

    pub(super) fn ins(&self, ins: InsId) -> &'a Ins {
        &self.ins[usize::from(ins.0)]
    }

    pub(super) fn bytes(&self, ins: &Ins) -> &'a [u8] {
        &self.bytes[ins.offset as usize..ins.end() as usize]
    }
}

/// A branch to a label that is not placed yet; `end` is the hot offset behind it.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub to: Label,
    pub end: u32,
    pub reach: Reach,
}

/// How far a branch reaches.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    /// 8 bits.
    Short,
    /// 32 bits.
    Near,
    /// 32 bits, with a relocation.
    Relocated,
}

/// One form on its way into a fragment.
pub(super) struct Writer<'a> {
    pub emitter: &'a mut Emitter,
    pub form: &'a Form,
    pub allocation: &'a Allocation,
    pub source: &'a Source<'a>,
    /// Where the additions of the form begin among those of the fragment.
    pub counts: usize,
    /// Branches to labels that are not placed yet.
    pub branches: Vec<Branch>,
    /// Labels that are placed, and where.
    pub placed: Vec<(Label, u32)>,
    /// Hot offsets of the places to which the VM comes back ([`ppin_form::Again`]).
    pub agains: Vec<u32>,
    /// The last jump inside a constant, and its hot offset.
    pub hidden: Option<(Entry, u32)>,
    /// The first slot of the last jump that is predicted.
    pub prediction: u16,
    /// For instructions of lifted routines: made for the first of them.
    pub encoder: Option<Encoder>,
}

impl Writer<'_> {
    /// The register of `reg`.
    pub(super) fn reg(&self, reg: Reg) -> Gpr {
        match reg {
            Reg::App(register) => register,
            Reg::Temp(temp) => self.allocation.register(temp),
        }
    }
}
