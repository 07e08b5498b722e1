//! One fragment that this process has made, and what may be done with it.
//!
//! ```text
//! made as   Trap ----------------------- kill --> Dead
//!           Sequence ------------------- kill --> Dead
//!           Trace: InUse <-- wake / kill --> Dormant -- supersede --> Dead
//! ```
//! Only traces are saved, so only they know whether they have been, and how they were reached.

use super::arena::Space;
use crate::exit::{CodeOf, KnownExit, number_at};
use crate::landing::Landings;
use crate::spot::Maps;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::{AppPc, CachePc, ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_images::ImageId;
use ppin_indirect::Site;
use ppin_relocator::{ARRIVAL, Fragment, Reloc, RelocKind, may_enter_aside};
use ppin_relocator::{entered_aside, side_entrance, side_entrances};

/// Number of a fresh fragment. Numbers are dense from 0 and not reused before a flush.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FragmentId(pub(super) u32);

impl FragmentId {
    /// Its place in a list of all fragments.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a fragment is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It only says that its source cannot be translated. It is neither found by its address
    /// nor linked to nor saved: memory may have changed before the source is reached again.
    Trap,
    /// A restartable sequence, a way into one, or code that announces one. It is never saved:
    /// the next run must find the sequence again. Out of use, it stays so.
    Sequence,
    /// Any other translation.
    Trace,
}

/// How a trace was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// By nothing when it was made: the next run may reach it.
    Never,
    /// Not by an indirect branch so far.
    Directly,
    /// By an indirect branch.
    Indirectly,
}

/// What only traces have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Trace {
    /// It is in a unit, or need not be.
    saved: bool,
    reached: Reached,
}

/// What may be done with a fragment: see the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In use; see [`Kind::Trap`].
    Trap,
    /// In use; see [`Kind::Sequence`].
    Sequence,
    /// In use.
    InUse(Trace),
    /// The source has changed, or may have. If it is as it was, the fragment may be woken.
    Dormant(Trace),
    /// Out of use for good.
    Dead,
}

impl State {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Trap => Self::Trap,
            Kind::Sequence => Self::Sequence,
            Kind::Trace => Self::InUse(Trace {
                saved: false,
                reached: Reached::Directly,
            }),
        }
    }

    fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            Self::InUse(trace) | Self::Dormant(trace) => Some(trace),
            Self::Trap | Self::Sequence | Self::Dead => None,
        }
    }
}

/// The lowest and the highest app address that `code` refers to by a distance.
fn referred_to(code: &Fragment) -> Option<(ImageOff, ImageOff)> {
    let off = |reloc: &Reloc| match reloc.kind {
        RelocKind::App(off) => Some(off),
        _ => None,
    };
    let mut all = code.relocs.iter().filter_map(off);
    let first = all.next()?;
    Some(all.fold((first, first), |(low, high), off| {
        (low.min(off), high.max(off))
    }))
}

/// A fragment compiled in this process.
#[derive(Debug)]
pub struct Fresh {
    code: Fragment,
    /// Lengths of its hot and its cold section, which `code` has lost.
    lens: [u32; 2],
    /// Number of its slots but for those of exits, likewise.
    slots: u16,
    image: ImageId,
    pc: AppPc,
    space: Space,
    source_hash: u64,
    /// The lowest and the highest app address that it refers to, from the image base.
    refers_to: Option<(ImageOff, ImageOff)>,
    /// The app bytes that it was made from, of volatile fragments only.
    source: Box<[u8]>,
    state: State,
    /// Something may lead to its side entrances ([`ppin_relocator::side_entrances`]).
    entered_aside: bool,
}

impl Fresh {
    /// `code`, made from the app bytes `source` at `pc` and laid at `space`, where its sections are from
    /// now on. What will not be frozen (`kept` is false) keeps only its maps and exits: generators of code can
    /// have us make hundreds of thousands.
    pub(crate) fn new(
        code: Fragment,
        (image, pc): (ImageId, AppPc),
        space: Space,
        source: &[u8],
        kind: Kind,
        kept: bool,
    ) -> Self {
        let volatile = code.context.contains(Context::VOLATILE);
        let mut fresh = Self {
            lens: [&code.hot, &code.cold].map(|bytes| bytes.len() as u32),
            slots: code.slots.len() as u16,
            refers_to: referred_to(&code),
            code,
            image,
            pc,
            space,
            source_hash: ppin_persist::source_hash(source),
            source: if volatile {
                source.into()
            } else {
                Box::default()
            },
            state: State::new(kind),
            entered_aside: false,
        };
        if kind != Kind::Trap {
            fresh.drop_sections();
            if !kept {
                fresh.keep_maps();
            }
        }
        fresh
    }

    /// Drops what only the writer of a unit would need.
    pub(super) fn keep_maps(&mut self) {
        self.drop_sections();
        (self.code.relocs, self.code.slots) = (Vec::new(), Vec::new());
    }

    fn drop_sections(&mut self) {
        (self.code.hot, self.code.cold) = (Vec::new(), Vec::new());
    }

    /// As the compiler left it, without its sections (but for traps). What will not be frozen has only its
    /// maps.
    #[must_use]
    pub fn code(&self) -> &Fragment {
        &self.code
    }

    /// Bytes of its hot and of its cold section.
    #[must_use]
    pub fn lens(&self) -> [usize; 2] {
        self.lens.map(|len| len as usize)
    }

    /// Bytes of its sections.
    #[must_use]
    pub fn code_len(&self) -> usize {
        self.lens().iter().sum()
    }

    /// Where its hot and its cold section lie.
    pub(super) fn sections(&self) -> [Range<u64>; 2] {
        let ([hot, cold], at) = (self.lens.map(u64::from), self.space);
        [at.hot..at.hot + hot, at.cold..at.cold + cold]
    }

    /// The image that it belongs to.
    #[must_use]
    pub fn image(&self) -> ImageId {
        self.image
    }

    /// Its first app instruction.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.pc
    }

    /// What it assumes on entry.
    #[must_use]
    pub fn context(&self) -> Context {
        self.code.context
    }

    /// Where it is entered.
    #[must_use]
    pub fn entry(&self) -> CachePc {
        CachePc(self.space.hot + u64::from(self.code.entry))
    }

    /// Where threads arrive that go to it by their own tables, if they may.
    #[must_use]
    pub(crate) fn arrival(&self) -> Option<u64> {
        (self.code.entry > 0).then_some(self.space.hot + u64::from(ARRIVAL))
    }

    /// Where its sections lie.
    #[must_use]
    pub fn space(&self) -> Space {
        self.space
    }

    /// Hash of the app bytes that it was made from.
    #[must_use]
    pub fn source_hash(&self) -> u64 {
        self.source_hash
    }

    /// The lowest and the highest app address that its code refers to by a distance.
    #[must_use]
    pub fn refers_to(&self) -> Option<(ImageOff, ImageOff)> {
        self.refers_to
    }

    /// Those bytes, of a volatile fragment; else nothing.
    #[must_use]
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Whether it may be entered: its source is as it was.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        match self.state {
            State::Trap | State::Sequence | State::InUse(_) => true,
            State::Dormant(_) | State::Dead => false,
        }
    }

    /// Whether it is in use and only says that its source cannot be translated.
    #[must_use]
    pub fn is_trap(&self) -> bool {
        self.state == State::Trap
    }

    /// Whether links and indirect branches may lead to `at` in it: to the entry of code that
    /// stays true to its source without the VM.
    #[must_use]
    pub fn may_be_linked_at(&self, at: CachePc) -> bool {
        let context = self.context();
        let looks = !context.contains(Context::VOLATILE) || context.contains(Context::COMPARED);
        let listed = matches!(self.state, State::Sequence | State::InUse(_));
        let entered = at == self.entry() || self.entered_aside(at).is_some();
        entered && listed && looks
    }

    /// Where the instruction at `pc` is entered behind the head, if that may be.
    pub(super) fn side_entrance(&self, pc: AppPc) -> Option<CachePc> {
        let app = pc.0.checked_sub(self.pc.0)?;
        let inside = app < u64::from(self.code.trace_len());
        let trace = matches!(self.state, State::InUse(_));
        let may = inside && trace && may_enter_aside(self.code.context, &self.code.counts);
        let hot = may.then(|| side_entrance(self.code.pc_map.iter(), app as u32))??;
        Some(CachePc(self.space.hot + u64::from(hot)))
    }

    /// Something is about to lead to a side entrance.
    pub(super) fn mark_entered_aside(&mut self) {
        self.entered_aside = true;
    }

    /// How many app bytes behind the head the side entrance at `at` is, if something may lead to such.
    pub(crate) fn entered_aside(&self, at: CachePc) -> Option<u32> {
        let hot = u32::try_from(at.0.checked_sub(self.space.hot)?).ok()?;
        let rows = self.entered_aside.then(|| self.code.pc_map.iter());
        entered_aside(rows?, hot)
    }

    /// Everything that something may lead to in it.
    pub(crate) fn entrances(&self) -> impl Iterator<Item = u64> + '_ {
        let rows = self.entered_aside.then(|| self.code.pc_map.iter());
        let aside = side_entrances(rows.into_iter().flatten());
        let aside = aside.map(|row| self.space.hot + u64::from(row.hot));
        aside.chain([self.entry().0])
    }

    /// How it was reached, if it is in use and has not been saved by this process.
    #[must_use]
    pub fn unsaved(&self) -> Option<Reached> {
        match self.state {
            State::InUse(trace) if !trace.saved => Some(trace.reached),
            _ => None,
        }
    }

    /// Takes it out of use; whether it may be woken.
    pub(super) fn kill(&mut self) -> bool {
        self.state = match self.state {
            State::InUse(trace) | State::Dormant(trace) => State::Dormant(trace),
            State::Trap | State::Sequence | State::Dead => State::Dead,
        };
        self.state != State::Dead
    }

    /// Takes it into use again, if it is dormant.
    pub(super) fn wake(&mut self) {
        if let State::Dormant(trace) = self.state {
            self.state = State::InUse(trace);
        }
    }

    /// Another fragment sleeps in its place: it will not be woken.
    pub(super) fn supersede(&mut self) {
        self.state = State::Dead;
    }

    /// It is in a unit, or need not be in one.
    pub(super) fn mark_saved(&mut self) {
        if let Some(trace) = self.state.trace_mut().filter(|trace| !trace.saved) {
            trace.saved = true;
        }
    }

    /// Says how it was reached.
    pub(super) fn mark_reached(&mut self, reached: Reached) {
        if let Some(trace) = self.state.trace_mut() {
            trace.reached = reached;
        }
    }

    /// Its exit whose stub lies at `stub`; its image lies at `base`.
    pub(crate) fn exit_at(&self, stub: u64, base: ImageBase) -> Option<KnownExit> {
        let number = number_at(stub.checked_sub(self.space.stubs)?, self.code.exits.len())?;
        self.exit(number, base)
    }

    /// Its exit `number`, if there are so many; its image lies at `base`.
    pub(crate) fn exit(&self, number: usize, base: ImageBase) -> Option<KnownExit> {
        let exit = self.code.exits.get(number)?;
        let slot = self.exit_slots().start + 8 * number as u64;
        let at = (self.space.hot, slot);
        Some(KnownExit::new(exit, base, at, CodeOf::Fresh))
    }

    /// Addresses of its exits' slots.
    pub(crate) fn exit_slots(&self) -> Range<u64> {
        let start = self.space.slots + 8 * u64::from(self.slots);
        start..start + 8 * self.code.exits.len() as u64
    }

    /// Where returns come back into it.
    pub(crate) fn landings(&self) -> Landings {
        let slots = self.space.slots;
        Landings {
            slots: slots..slots + 8 * u64::from(self.slots),
            source: self.pc.0..self.pc.0 + u64::from(self.code.trace_len()),
        }
    }

    /// What must be known of it to predict its jumps.
    pub(crate) fn site(&self) -> Site {
        let Landings { slots, source } = self.landings();
        let called = self.context().contains(Context::CALLED);
        // SAFETY: its slots, mapped as long as its code.
        unsafe { Site::new(slots, source, self.entry().0, called) }
    }

    /// Whether any of its source lies in `start .. end`.
    pub(super) fn is_made_from(&self, start: u64, end: u64) -> bool {
        let len = u64::from(self.code.source_len.max(1));
        self.pc.0 < end && self.pc.0 + len > start
    }

    /// Its maps, if `addr` is in its hot code; `counters` is where those of its image lie, from
    /// `gs`.
    #[must_use]
    pub(crate) fn maps(&self, addr: u64, counters: u64) -> Option<Maps> {
        (addr.wrapping_sub(self.space.hot) < u64::from(self.lens[0])).then(|| Maps {
            head: self.pc,
            context: self.code.context,
            hot: self.space.hot,
            rows: self.code.pc_map.iter().collect(),
            counts: self.code.counts.clone(),
            counters,
        })
    }
}

#[cfg(test)]
mod tests;
