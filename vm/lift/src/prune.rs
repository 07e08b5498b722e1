//! Drops what nobody needs.

use crate::body::{Branch, End, Path, Step};
use alloc::vec::Vec;

/// What is alive somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Alive {
    registers: u16,
    flags: u32,
}

/// Drops the dead steps of `path`; what is alive at its beginning.
pub(crate) fn prune(path: &mut Path) -> Alive {
    let mut alive = match &mut path.end {
        End::Done | End::Then | End::Call => Alive::default(),
        End::If(branch) => {
            let (taken, other) = (prune(&mut branch.taken), prune(&mut branch.other));
            Alive {
                registers: taken.registers | other.registers,
                flags: branch.flags | taken.flags | other.flags,
            }
        }
    };
    if let End::If(branch) = &path.end
        && let Some(end) = only_end(branch)
    {
        path.end = end;
        alive = Alive::default();
    }
    let mut steps: Vec<Step> = Vec::with_capacity(path.steps.len());
    for step in path.steps.drain(..).rev() {
        if alive.before(&step) {
            steps.push(step);
        }
    }
    steps.reverse();
    path.steps = steps;
    alive
}

/// The end of both ways, if they do nothing and end alike.
fn only_end(branch: &Branch) -> Option<End> {
    let ways = [&branch.taken, &branch.other];
    if ways.iter().any(|way| !way.steps.is_empty()) {
        return None;
    }
    match ways.map(|way| &way.end) {
        [End::Done, End::Done] => Some(End::Done),
        [End::Then, End::Then] => Some(End::Then),
        _ => None,
    }
}

impl Alive {
    /// Becomes what is alive before `step`; `false`: the step is not needed.
    fn before(&mut self, step: &Step) -> bool {
        match step {
            Step::Argument { to, .. } | Step::Set { to, .. } | Step::Object { to, .. } => {
                let needed = self.registers & 1 << to != 0;
                self.registers &= !(1 << to);
                needed
            }
            Step::Ins(ins) => {
                let result = ins.writes & self.registers != 0;
                if !result && !ins.stores && ins.writes_flags & self.flags == 0 {
                    return false;
                }
                self.registers = self.registers & !ins.writes | ins.reads;
                if ins.surely {
                    self.flags &= !ins.writes_flags;
                }
                self.flags |= ins.reads_flags;
                true
            }
        }
    }
}
