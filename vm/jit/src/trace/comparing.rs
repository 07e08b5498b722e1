//! Where a trace that compares its source does so.

use alloc::vec::Vec;
use core::ops::Range;
use iced_x86::InstructionInfoFactory;
use ppin_abi::context::Context;
use ppin_decode::{Ins, Kind, effects};
use ppin_liveness::apart::Apart;

/// See the module. By default, nowhere.
#[derive(Default)]
pub(crate) struct Comparing {
    /// Instructions between two comparisons of the source with memory; none if the code
    /// does not compare.
    pub stretches: Vec<Range<usize>>,
    /// Behind these stores nothing is compared, if their base is looked at on entry.
    pub apart: Option<Apart>,
}

impl Comparing {
    /// That of the trace `ins` in `context`. `apart`: stores may be told apart from the source by their base.
    pub(crate) fn of(ins: &[Ins], context: Context, apart: bool) -> Self {
        let compares = context.contains(Context::COMPARED);
        let translated = !matches!(ins.first().map(|ins| ins.kind), None | Some(Kind::Trap(_)));
        if !compares || !translated {
            return Self::default();
        }
        let aliased = context.contains(Context::ALIASED);
        let factory = &mut InstructionInfoFactory::new();
        let stores = if aliased { 0 } else { stores(ins, factory) };
        let apart = apart.then(|| Apart::of(ins, stores, factory)).flatten();
        let left = apart
            .as_ref()
            .map_or(stores, |apart| stores & !apart.stores);
        let ends = |index: usize| left & 1 << index != 0 || effects::serializes(&ins[index].raw);
        Self {
            stretches: stretches(ins, ends),
            apart,
        }
    }
}

/// Bits of the instructions that store, and that another one follows.
fn stores(ins: &[Ins], factory: &mut InstructionInfoFactory) -> u64 {
    let followed = ins[..ins.len().saturating_sub(1)].iter();
    let writes = followed.map(|ins| u64::from(effects::writes_memory(&ins.raw, factory)));
    writes.enumerate().map(|(index, bit)| bit << index).sum()
}

/// Code that compares its source does so again behind each instruction that may have
/// written to it, or behind which the processor must fetch anew what others have. `ends` says which.
fn stretches(ins: &[Ins], ends: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut start = 0;
    let ends = (0..ins.len()).filter(|index| index + 1 == ins.len() || ends(*index));
    ends.map(|last| {
        let stretch = start..last + 1;
        start = stretch.end;
        stretch
    })
    .collect()
}
