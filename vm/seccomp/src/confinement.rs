//! All that confines a thread.

use crate::action::{Action, rank};
use crate::{Call, Filter};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// One thing that a thread has imposed on itself.
#[derive(Clone, Debug)]
pub enum Rule {
    /// `SECCOMP_MODE_STRICT`.
    Strict,
    /// `SECCOMP_MODE_FILTER`.
    Filter(Arc<Filter>),
    /// A filter that could not be read: it may say anything.
    Unknown,
}

impl Rule {
    fn value(&self, call: &Call) -> u32 {
        const KILL: u32 = 0;
        match self {
            Self::Filter(filter) => filter.run(call),
            Self::Strict if STRICT.contains(&call.nr) => ALLOW,
            Self::Strict | Self::Unknown => KILL,
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Filter(one), Self::Filter(two)) => Arc::ptr_eq(one, two),
            (Self::Strict, Self::Strict) | (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }
}

const ALLOW: u32 = 0x7fff_0000;
/// read, write, exit, rt_sigreturn.
const STRICT: [u32; 4] = [0, 1, 60, 15];

/// The rules of a thread, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Confinement(Vec<Rule>);

impl Confinement {
    /// These rules and one more.
    #[must_use]
    pub fn with(&self, rule: Rule) -> Self {
        let mut rules = self.0.clone();
        rules.push(rule);
        Self(rules)
    }

    /// The rules of both: forbids what either forbids.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let new = |rule: &&Rule| !self.0.iter().any(|known| known.is(rule));
        Self(
            self.0
                .iter()
                .chain(other.0.iter().filter(new))
                .cloned()
                .collect(),
        )
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The action for `call`: the severest of all filters' answers, and of equally severe ones the
    /// newest.
    #[must_use]
    pub fn verdict(&self, call: &Call) -> Action {
        let values = self.0.iter().rev().map(|rule| rule.value(call));
        Action::of(values.fold(ALLOW, |worst, value| {
            if rank(value) < rank(worst) {
                value
            } else {
                worst
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Confinement, Rule};
    use crate::{Action, Call, Filter, Insn};
    use alloc::sync::Arc;

    fn always(value: u32) -> Rule {
        let program = [Insn {
            code: 0x06,
            k: value,
            ..Insn::default()
        }];
        Rule::Filter(Arc::new(Filter::new(&program).unwrap()))
    }

    fn verdict(rules: &[u32]) -> Action {
        let all = rules
            .iter()
            .fold(Confinement::default(), |c, v| c.with(always(*v)));
        all.verdict(&Call::default())
    }

    #[test]
    fn the_severest_counts_and_the_newest_of_equals() {
        const KILL_PROCESS: u32 = 0x8000_0000;
        assert_eq!(verdict(&[]), Action::Allow);
        assert_eq!(verdict(&[0x5_0001, 0x7fff_0000]), Action::Error(1));
        assert_eq!(verdict(&[0x5_0001, 0x5_0002]), Action::Error(2));
        assert_eq!(verdict(&[0x3_0000, 0x5_0002]), Action::Trap);
        assert_eq!(verdict(&[0, KILL_PROCESS, 0x3_0000]), Action::Kill);
        assert_eq!(verdict(&[0x7ffc_0000]), Action::Allow);
        assert_eq!(verdict(&[0x7ff0_0000]), Action::Ask);
        assert_eq!(verdict(&[0x5_ffff]), Action::Error(4095));
        assert_eq!(verdict(&[0x1234_0000]), Action::Kill);
    }

    #[test]
    fn strict_mode_knows_four_calls() {
        let strict = Confinement::default().with(Rule::Strict);
        let allowed = |nr| {
            strict.verdict(&Call {
                nr,
                ..Call::default()
            }) == Action::Allow
        };
        let all: Vec<u32> = (0..500).filter(|nr| allowed(*nr)).collect();
        assert_eq!(all, [0, 1, 15, 60]);
    }

    #[test]
    fn a_union_holds_each_rule_once() {
        let one = Confinement::default().with(always(0x5_0001));
        let two = one.with(always(0x5_0002));
        assert_eq!(one.and(&two).0.len(), 2);
        assert_eq!(two.and(&one).0.len(), 2);
        assert!(
            Confinement::default()
                .and(&Confinement::default())
                .is_empty()
        );
    }
}
