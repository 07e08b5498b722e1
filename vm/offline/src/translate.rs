//! The fragment for one place of an image.

use crate::image::Image;
use crate::target::Target;
use ppin_abi::addr::ImageRange;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_jit::{BytesEnd, Chosen, Request, choose, compile};
use ppin_relocator::{Fragment, Shape, SlotInit, sealed_cells};

/// Translates code of one image for one tool.
#[derive(Clone, Copy)]
pub struct Translator<'a> {
    image: &'a Image<'a>,
    tool: &'a dyn Tool,
    optimize: Optimize,
}

/// A trace of a certain shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub target: Target,
    /// See [`Request::arrives`].
    pub arrives: bool,
    pub shape: Shape,
    /// Bytes of app code that it may have.
    pub most: u32,
}

impl Wanted {
    /// One in place of `kept`.
    pub(crate) fn instead_of(kept: &Fragment) -> Self {
        Self {
            arrives: kept.entry > 0,
            ..Self::at(Target::of(kept))
        }
    }

    /// A straight one.
    pub(crate) const fn at(target: Target) -> Self {
        Self {
            target,
            arrives: false,
            shape: Shape::STRAIGHT,
            most: u32::MAX,
        }
    }

    /// The same, following branch `nth`, too.
    pub(crate) const fn following(self, nth: usize) -> Self {
        let shape = self.shape.with(nth);
        Self { shape, ..self }
    }
}

impl<'a> Translator<'a> {
    /// Code of `image`, instrumented by `tool`, by these mechanisms.
    #[must_use]
    pub const fn new(image: &'a Image<'a>, tool: &'a dyn Tool, optimize: Optimize) -> Self {
        Self {
            image,
            tool,
            optimize,
        }
    }

    /// The fragment for `target`; `None` if no code lies there, or none that can be
    /// translated.
    #[must_use]
    pub fn fragment(&self, target: Target) -> Option<Fragment> {
        let bytes = self.image.code_from(target.off)?;
        let made = compile(&self.request(target, bytes, None), self.tool);
        (made.instructions != 0).then_some(made)
    }

    /// What becomes today of the `source` that `kept` was made from.
    pub(crate) fn again(&self, kept: &Fragment, source: &[u8]) -> Fragment {
        let len = u32::try_from(source.len()).ok();
        let request = Request {
            arrives: kept.entry > 0,
            shape: kept.shape,
            sealed: sealed_again(&kept.slots),
            ..self.request(Target::of(kept), source, len)
        };
        compile(&request, self.tool)
    }

    /// The trace that is `wanted`; `None` if no code lies there.
    pub(crate) fn chosen(&self, wanted: &Wanted) -> Option<Chosen> {
        Some(choose(&self.asked(wanted)?))
    }

    /// [`Self::chosen`], translated.
    pub(crate) fn shaped(&self, wanted: &Wanted) -> Option<Fragment> {
        let made = compile(&self.asked(wanted)?, self.tool);
        (made.instructions != 0).then_some(made)
    }

    fn asked(&self, wanted: &Wanted) -> Option<Request<'a>> {
        let bytes = self.image.code_from(wanted.target.off)?;
        Some(Request {
            arrives: wanted.arrives,
            shape: wanted.shape,
            ..self.request(wanted.target, bytes, Some(wanted.most))
        })
    }

    fn request<'b>(&self, target: Target, bytes: &'b [u8], most: Option<u32>) -> Request<'b> {
        let image = self.image.base();
        Request {
            pc: target.off.at(image),
            image,
            context: target.context,
            bytes,
            end: BytesEnd::Limit,
            max_source: most,
            shape: Shape::STRAIGHT,
            sequences: &[],
            arrives: false,
            optimize: self.optimize,
            // (Several threads translate at once.)
            sealed: self.image.sealed(),
            steady: true,
            bodies: None,
        }
    }
}

/// For code with these slots: the part of its image that it took for what the loader makes read-only. (A process
/// may have made it before the loader had sealed anything, or in memory where no loader does.)
#[must_use]
pub fn sealed_again(slots: &[SlotInit]) -> ImageRange {
    // (What is sealed is one range, so whatever lies between two such cells is, too.)
    sealed_cells(slots).fold(ImageRange::NONE, |range, cell| {
        let end = cell.checked_add(8).unwrap_or(cell);
        match range {
            ImageRange::NONE => ImageRange { start: cell, end },
            ImageRange { start, end: last } => ImageRange {
                start: start.min(cell),
                end: last.max(end),
            },
        }
    })
}
