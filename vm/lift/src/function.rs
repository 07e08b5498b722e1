//! The instructions of one function, and which of them are on the way to its return.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use ppin_api::compiler::CodeBytes;

/// Most instructions of a function that are looked at.
const MOST: usize = 2_000;
/// Longest instruction.
const LONGEST: usize = 15;

/// An instruction, and where control goes on.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub ins: Instruction,
    /// Addresses in the same function.
    pub next: Vec<u64>,
    /// What is called, or jumped to instead of returning.
    pub call: Option<Callee>,
    /// Returns to the caller, itself or by what it jumps to.
    pub returns: bool,
}

/// What a function calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    /// The function at an address.
    At(u64),
    /// One that cannot be known.
    Unknown,
}

impl Callee {
    /// What a call or an indirect jump leads to. Functions of other crates are called by way of a word that
    /// the linker has written.
    fn of(ins: &Instruction, code: &dyn CodeBytes) -> Self {
        let named = match ins.op0_kind() {
            OpKind::NearBranch64 => Some(ins.near_branch_target()),
            OpKind::Memory if ins.is_ip_rel_memory_operand() => {
                code.link(ins.ip_rel_memory_address())
            }
            // (System calls, too: they end in the kernel, but one that ends the process stands before `ud2`.)
            _ => None,
        };
        named.map_or(Self::Unknown, Self::At)
    }
}

/// The code of a function, by address.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub nodes: BTreeMap<u64, Node>,
    /// Some of it could not be read, or is too long.
    pub incomplete: bool,
}

impl Function {
    /// Decodes the function at `start`. `never_returns` is asked for each callee.
    pub(crate) fn decode(
        code: &dyn CodeBytes,
        start: u64,
        mut never_returns: impl FnMut(u64) -> bool,
    ) -> Self {
        let mut function = Self::default();
        let mut open = alloc::vec![start];
        while let Some(at) = open.pop() {
            if function.nodes.contains_key(&at) {
                continue;
            }
            let Some(ins) = decode(code, at).filter(|_| function.nodes.len() < MOST) else {
                function.incomplete = true;
                continue;
            };
            let node = Node::new(ins, code, &mut never_returns);
            open.extend(&node.next);
            function.nodes.insert(at, node);
        }
        function
    }

    /// The nodes from which control gets to a return.
    pub(crate) fn returning(&self) -> BTreeMap<u64, &Node> {
        let mut found: BTreeMap<u64, &Node> = BTreeMap::new();
        loop {
            let before = found.len();
            for (at, node) in self.nodes.iter().rev() {
                let leads = node.returns || node.next.iter().any(|to| found.contains_key(to));
                if leads {
                    found.insert(*at, node);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

/// The instruction at `at`.
pub(crate) fn decode(code: &dyn CodeBytes, at: u64) -> Option<Instruction> {
    let mut bytes = [0; LONGEST];
    let len = code.read(at, &mut bytes);
    let ins = Decoder::with_ip(64, &bytes[..len], at, DecoderOptions::NONE).decode();
    (!ins.is_invalid()).then_some(ins)
}

impl Node {
    fn new(
        ins: Instruction,
        code: &dyn CodeBytes,
        never_returns: &mut impl FnMut(u64) -> bool,
    ) -> Self {
        let mut node = Self {
            ins,
            next: Vec::new(),
            call: None,
            returns: false,
        };
        let behind = ins.next_ip();
        let near = matches!(ins.op0_kind(), OpKind::NearBranch64);
        match ins.flow_control() {
            FlowControl::Next => node.next.push(behind),
            FlowControl::ConditionalBranch => node.next.extend([behind, ins.near_branch_target()]),
            FlowControl::UnconditionalBranch if near => node.next.push(ins.near_branch_target()),
            FlowControl::Call | FlowControl::IndirectCall => {
                let callee = Callee::of(&ins, code);
                node.call = Some(callee);
                if !matches!(callee, Callee::At(target) if never_returns(target)) {
                    node.next.push(behind);
                }
            }
            FlowControl::Return => node.returns = true,
            FlowControl::IndirectBranch => {
                let callee = Callee::of(&ins, code);
                node.call = Some(callee);
                node.returns = !matches!(callee, Callee::At(target) if never_returns(target));
            }
            FlowControl::Exception | FlowControl::Interrupt if ins.code() == Code::Int3 => {}
            FlowControl::Exception => {}
            _ => node.call = Some(Callee::Unknown),
        }
        node
    }
}
