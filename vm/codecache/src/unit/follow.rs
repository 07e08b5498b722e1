//! A unit under a start plan: what earlier runs have used of it is let run at once, and what they
//! have verified is not verified again ([`ppin_persist::start`]).

use super::admit::Source;
use super::bound::{Bound, Gate};
use super::planned::Planned;
use crate::figures::Figures;
use core::ops::Range;
use ppin_abi::addr::ImageOff;
use ppin_images::Home;
use ppin_indirect::IblTable;
use ppin_os::peek;
use ppin_persist::start::{self, Compared, Groups, Target, UnitPlan};

impl Bound {
    /// Does what `plan` says of the unit, as far as it fits.
    pub(super) fn follow(
        &mut self,
        plan: &UnitPlan,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) {
        let watched = plan.watches > 0;
        if plan.file == self.file {
            self.unit.trust(&plan.seen);
            self.planned = Planned {
                sound: plan.sound.clone(),
                stubs: plan.stubs,
                eager: if watched {
                    Groups::new()
                } else {
                    plan.eager.clone()
                },
                learnt: plan.targets.len() + plan.links.len() + plan.predictions.len(),
                beyond: plan.beyond,
                unlearnt: plan.unlearnt as usize,
                ..Planned::default()
            };
        }
        self.planned.histories = plan.histories.clone();
        self.planned.watched = watched;
        if watched {
            figures.watched = true;
        } else if is_same(&plan.compared, image) {
            self.run_planned(plan, image, figures, ibl);
        }
    }

    /// Lets the groups run that `plan` names: they are what they were.
    fn run_planned(
        &mut self,
        plan: &UnitPlan,
        image: Home<'_>,
        figures: &mut Figures,
        ibl: &mut IblTable,
    ) {
        self.planned.let_run = plan.eager.clone();
        for run in &plan.eager {
            self.open_groups(run.clone(), Source::Same, image, figures, ibl);
        }
        self.reach(&plan.targets, image, ibl);
    }

    /// Lets indirect branches reach those of `targets` that run.
    fn reach(&self, targets: &[Target], image: Home<'_>, ibl: &mut IblTable) {
        let mut running = Running::of(self);
        for target in targets {
            if let Some(entry) = running.at(target.hot) {
                let tag = ImageOff(target.head).at(image.base).0;
                ibl.prefill(tag, entry);
                if target.near {
                    let before = u32::from(target.before);
                    let arrival = target.hot.checked_sub(before).filter(|_| before > 0);
                    ibl.prefill_near(tag, entry, arrival.and_then(|hot| running.at(hot)));
                }
            }
        }
    }

    /// Cache address of byte `hot` of the hot section, if its group runs.
    pub(super) fn running(&self, hot: u32) -> Option<u64> {
        Running::of(self).at(hot)
    }

    /// Whether group `number` runs.
    pub(super) fn is_open(&self, number: u32) -> bool {
        self.hot_gates[number as usize] == Gate::Open
    }

    /// Number of groups that run beyond those that were planned or are nothing new, and of those
    /// that were planned.
    pub(super) fn beyond_plan(&self) -> (u32, u32) {
        let beyond = self.used_beyond(&self.planned.eager) + self.written();
        let new = beyond.saturating_sub(self.planned.beyond);
        (new, start::count(&self.planned.eager))
    }

    /// Number of groups that this process has written and used: in fresh code.
    pub(super) fn written(&self) -> u32 {
        let groups = self.planned.histories.iter();
        let used = groups.filter(|history| self.planned.own && history.is_last());
        used.count() as u32
    }

    /// Number of groups that were asked for and are none of `eager`.
    pub(super) fn used_beyond(&self, eager: &Groups) -> u32 {
        let open = |gates: &[Gate]| gates.iter().filter(|gate| **gate == Gate::Open).count();
        let within = |groups: &Groups| -> usize {
            let runs = groups
                .iter()
                .map(|run| run.start as usize..run.end as usize);
            let gates = runs.filter_map(|run| self.hot_gates.get(run));
            gates.map(open).sum()
        };
        // (A plan that lies may name a group twice.)
        let known = within(eager) + within(&self.filled);
        open(&self.hot_gates).saturating_sub(known) as u32
    }
}

/// What [`Bound::running`] says of many places. Those of a plan are in their order, so that most lie in the group
/// of the one before.
struct Running<'a> {
    unit: &'a Bound,
    /// Offsets in the hot section of the group that was found last.
    group: Range<u32>,
}

impl<'a> Running<'a> {
    const fn of(unit: &'a Bound) -> Self {
        Self { unit, group: 0..0 }
    }

    fn at(&mut self, hot: u32) -> Option<u64> {
        if !self.group.contains(&hot) {
            let group = self.unit.unit.hot_group_at(hot)?;
            if !self.unit.is_open(group.number) {
                return None;
            }
            self.group = group.offset..group.offset + group.len;
        }
        Some(self.unit.hot() + u64::from(hot))
    }
}

/// Whether the app's bytes are those that were compared, and persisted code of them may run.
fn is_same(compared: &Compared, image: Home<'_>) -> bool {
    let forbidden = compared.stretches().any(|(start, len)| {
        let start = start.at(image.base).0;
        image.forbids(start, start + u64::from(len))
    });
    let expect = |off: ImageOff, len| peek::expect(off.at(image.base).0, u64::from(len));
    !forbidden && compared.holds(reader(image), expect)
}

/// Reads the image in memory.
pub(super) fn reader(image: Home<'_>) -> impl FnMut(ImageOff, &mut [u8]) -> bool {
    move |off, to| peek::read(off.at(image.base).0, to) == to.len()
}
