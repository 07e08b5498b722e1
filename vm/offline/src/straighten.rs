//! Traces that go on where the program mostly has: kept code is made anew, by what earlier runs have counted.
//!
//! A trace follows a branch ahead that was taken more often than not, and then jumps ahead, too. It is not led to
//! where no kept trace has been: there might be a restartable sequence (rseq(2)), or no code. A trace of which
//! nothing was counted stays as it is. What only the old traces led to on the way gets traces of its own, behind the others.

use crate::image::Image;
use crate::target::Target;
use crate::translate::{Translator, Wanted};
use crate::workers::Workers;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_jit::Branch;
use ppin_persist::{Thawed, UnitFile, freeze, source_hash};
use ppin_relocator::{Fragment, Shape, normalise, pc_flag};

/// Branches that were executed less often say nothing.
const SELDOM: u64 = 50;
/// What is not there any more is looked for so often: what takes its place may lead to more.
const MOST_ROUNDS: usize = 8;

/// How often branches of an image were executed and taken, by where they stand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edges(BTreeMap<ImageOff, Counted>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counted {
    executed: u64,
    taken: u64,
}

impl Edges {
    /// The branch at `off` was executed so many times more, and `taken` of them.
    pub fn add(&mut self, off: ImageOff, executed: u64, taken: u64) {
        let there = self.0.entry(off).or_default();
        there.executed += executed;
        there.taken += taken;
    }

    /// What is known of the branch at `off`, if it was executed often.
    fn often(&self, off: ImageOff) -> Option<Counted> {
        let counted = self.0.get(&off).copied();
        counted.filter(|counted| counted.executed >= SELDOM)
    }

    /// Whether the branch at `off` is known to be taken more often than not, by three in five.
    fn mostly_taken(&self, off: ImageOff) -> bool {
        let counted = self.often(off);
        counted.is_some_and(|counted| counted.taken / 3 > counted.executed / 5)
    }
}

/// A unit made anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Straightened {
    /// The file.
    pub bytes: Vec<u8>,
    /// Traces that follow other branches than before.
    pub changed: u32,
    /// Traces that are new, behind all others.
    pub added: u32,
}

/// Makes traces of `unit` follow branches by what was counted of them in its image, whose `file` this is. `None`: no
/// trace becomes another, or they cannot be kept.
#[must_use]
pub fn straighten(
    unit: &UnitFile<'_>,
    file: &[u8],
    (tool, optimize): (&dyn Tool, Optimize),
    edges: &Edges,
    workers: &impl Workers,
) -> Option<Straightened> {
    let image = Image::new(file, crate::again::base(unit));
    let mut traces = unit.thaw_all().ok()?;
    let work = Work {
        translator: Translator::new(&image, tool, optimize),
        image: &image,
        edges,
        known: boundaries(&traces),
    };
    let made = workers.map(&traces, |kept| work.straightened(kept));
    let mut new = Vec::new();
    for (number, made) in made.into_iter().enumerate() {
        if let Some(made) = made {
            traces[number] = made;
            new.push(number);
        }
    }
    let (changed, before) = (new.len() as u32, traces.len());
    let bytes = (changed > 0).then(|| work.complete(unit, &mut traces, new))??;
    let added = (traces.len() - before) as u32;
    Some(Straightened {
        bytes,
        changed,
        added,
    })
}

/// Where instructions of `traces` begin.
fn boundaries(traces: &[Thawed]) -> BTreeSet<ImageOff> {
    let of = |kept: &Thawed| {
        let head = kept.fragment.head;
        let rows = kept.fragment.pc_map.iter();
        let begin = rows.filter(|row| row.flags & pc_flag::BOUNDARY != 0);
        let places: Vec<_> = begin.filter_map(|row| head.checked_add(row.app)).collect();
        places
    };
    traces.iter().flat_map(of).collect()
}

struct Work<'a> {
    translator: Translator<'a>,
    image: &'a Image<'a>,
    edges: &'a Edges,
    known: BTreeSet<ImageOff>,
}

impl Work<'_> {
    /// What takes the place of `kept`, if it becomes another.
    fn straightened(&self, kept: &Thawed) -> Option<Thawed> {
        let code = &kept.fragment;
        let source = self.image.bytes_at(code.head, code.source_len)?;
        let same = source_hash(source) == kept.source_hash;
        if !same || !kept.tool.is_empty() || code.instructions == 0 {
            return None;
        }
        let made = self.translator.shaped(&self.wanted(code)?)?;
        (made.shape != code.shape).then(|| self.thawed(made, kept.flags))?
    }

    /// The trace in place of `code`, if something of it was counted.
    fn wanted(&self, code: &Fragment) -> Option<Wanted> {
        let mut wanted = Wanted::instead_of(code);
        for nth in 0..Shape::MOST {
            let Some(branch) = self.translator.chosen(&wanted)?.branches().nth(nth) else {
                break;
            };
            if branch.always || self.edges.mostly_taken(self.offset(branch)) {
                wanted = self.as_far_as_known(wanted.following(nth))?;
                wanted.shape = self.translator.chosen(&wanted)?.shape();
            }
        }
        let chosen = self.translator.chosen(&wanted)?;
        let mut branches = chosen.branches().filter(|branch| !branch.always);
        let counted = branches.any(|branch| self.edges.often(self.offset(branch)).is_some());
        counted.then_some(wanted)
    }

    fn offset(&self, branch: Branch) -> ImageOff {
        // (It lies in the image.)
        branch.pc.offset_from(self.image.base()).unwrap_or_default()
    }

    /// The same trace, but it ends before what is not known.
    fn as_far_as_known(&self, mut wanted: Wanted) -> Option<Wanted> {
        let known = |start| {
            let off = wanted.target.off.checked_add(start);
            off.is_some_and(|off| self.known.contains(&off))
        };
        let chosen = self.translator.chosen(&wanted)?;
        if let Some(unknown) = chosen.places().find(|place| !known(place.start)) {
            wanted.most = wanted.most.min(unknown.start);
        }
        Some(wanted)
    }

    /// The straight trace at `target`, as far as it is known.
    fn straight(&self, target: Target) -> Option<Thawed> {
        let wanted = self.as_far_as_known(Wanted::at(target))?;
        self.thawed(self.translator.shaped(&wanted)?, 0)
    }

    fn thawed(&self, mut fragment: Fragment, flags: u32) -> Option<Thawed> {
        normalise(&mut fragment);
        let source = self.image.bytes_at(fragment.head, fragment.source_len)?;
        Some(Thawed {
            source_hash: source_hash(source),
            fragment,
            flags,
            tool: Vec::new(),
        })
    }

    /// The unit of `traces`, to which is added where those of these numbers, which are `new`, leave what is known,
    /// and what others led to in `old`.
    fn complete(
        &self,
        old: &UnitFile<'_>,
        traces: &mut Vec<Thawed>,
        mut new: Vec<usize>,
    ) -> Option<Vec<u8>> {
        for _ in 0..MOST_ROUNDS {
            let bytes = frozen(old, traces)?;
            let unit = UnitFile::open(&bytes, None).ok()?;
            let left = new.iter().flat_map(|number| exits(&traces[*number]));
            let left = left.filter(|at| self.known.contains(&at.off));
            let led = traces.iter().flat_map(exits).filter(|at| has(old, at));
            let missing: BTreeSet<Target> = left.chain(led).filter(|at| !has(&unit, at)).collect();
            let made = missing.into_iter().filter_map(|at| self.straight(at));
            let made: Vec<Thawed> = made.collect();
            if made.is_empty() {
                return Some(bytes);
            }
            new = (traces.len()..traces.len() + made.len()).collect();
            traces.extend(made);
        }
        frozen(old, traces)
    }
}

fn frozen(like: &UnitFile<'_>, traces: &[Thawed]) -> Option<Vec<u8>> {
    let pieces: Vec<_> = traces.iter().map(Thawed::piece).collect();
    freeze(&like.spec(&pieces)).ok()
}

/// Where `kept` leads.
fn exits(kept: &Thawed) -> impl Iterator<Item = Target> {
    kept.fragment.exits.iter().map(|exit| Target {
        off: exit.target,
        context: exit.context,
    })
}

/// Whether `unit` has code for `at`.
fn has(unit: &UnitFile<'_>, at: &Target) -> bool {
    let found = unit.unit().entrance(at.off, at.context);
    found.is_ok_and(|found| found.is_some())
}

#[cfg(test)]
mod tests;
