//! Traces.

use super::bbl::Bbl;
use super::ins::Ins;
use super::sight::{Limits, Sight};
use crate::insertions::Insertions;
use crate::source::Source;
use ppin_abi::addr::{AppPc, ImageBase};

/// A straight piece of code, entered at its head only, left at many places.
pub struct Trace<'a>(Sight<'a>);

/// What a view is made of.
#[derive(Clone, Copy)]
pub struct Code<'a> {
    /// The instructions.
    pub source: &'a dyn Source,
    /// The image that they lie in.
    pub image: ImageBase,
    /// The first block is the rest of one that an earlier trace began.
    pub continues: bool,
}

impl<'a> Trace<'a> {
    /// A view of `source`, which lies in the image at `image`. `continues`: the first block is
    /// the rest of one that an earlier trace began. For compilers.
    #[must_use]
    pub fn new(source: &'a dyn Source, image: ImageBase, continues: bool, limits: Limits) -> Self {
        Self(Sight::new(source, image, continues, limits))
    }

    /// What was inserted. For compilers.
    #[must_use]
    pub fn into_insertions(self) -> Insertions {
        self.0.into_insertions()
    }

    /// The same code, seen by one of several tools, which may insert within `limits`. What it
    /// inserts is in the part, until it is added with [`Self::insert`].
    #[must_use]
    pub fn part(&self, limits: Limits) -> Trace<'_> {
        Trace::new(self.0.source, self.0.image, self.0.continues, limits)
    }

    /// The code itself, for what passes the view on.
    #[must_use]
    pub fn code(&self) -> Code<'_> {
        Code {
            source: self.0.source,
            image: self.0.image,
            continues: self.0.continues,
        }
    }

    /// Adds what was granted elsewhere: to a part, or to a loaded tool.
    pub fn insert(&self, all: Insertions) {
        self.0.insert(all);
    }

    /// App address of its head.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        match self.0.source.count() {
            0 => AppPc(0),
            _ => self.0.source.pc(0),
        }
    }

    /// Its blocks, in order.
    pub fn bbls(&self) -> impl Iterator<Item = Bbl<'_>> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let bbl = Bbl::at(&self.0, start)?;
            start = bbl.end();
            Some(bbl)
        })
    }

    /// All its instructions, in order.
    pub fn ins(&self) -> impl Iterator<Item = Ins<'_>> {
        (0..self.0.source.count()).map(|index| Ins::new(&self.0, index))
    }
}
