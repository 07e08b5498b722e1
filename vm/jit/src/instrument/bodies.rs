//! What analysis routines come to in line.
//!
//! Many calls differ only in what is not known of their arguments, in one trace as in others. So what has
//! been lifted is kept: a tool that has a routine called for each access to memory has it lifted a few
//! times, not once for each trace.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::RefCell;
use ppin_api::compiler::Value;
use ppin_api::{Function, Tool};
use ppin_lift::body::Why;
use ppin_lift::{Body, Known, Wanted, lift};

/// What a routine comes to.
pub(super) type Lifted = Arc<Result<Body, Why>>;

/// Most bodies that are kept: constants of a tool may be others in each trace.
const MOST: usize = 64;

/// What routines of one tool have come to so far.
#[derive(Default, Debug)]
pub struct Bodies(RefCell<Vec<Lifting>>);

/// A routine by its address, what it is for, what is known of its arguments, and what it comes to.
type Lifting = (u64, Wanted, Vec<Known>, Lifted);

impl Bodies {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// What `routine` of `tool` comes to with `args`, if it is `wanted` for this.
    pub(super) fn lift(
        &self,
        tool: &dyn Tool,
        routine: &dyn Function,
        args: &[Value],
        wanted: Wanted,
    ) -> Lifted {
        let known = args.iter().map(|value| match value {
            Value::Const(value) => Known::Number(*value),
            Value::State(_) => Known::State,
            _ => Known::Nothing,
        });
        let (address, known) = (routine.address() as u64, known.collect::<Vec<Known>>());
        let lifted = || {
            let code = tool.code().ok_or(Why::Unreadable);
            Arc::new(code.and_then(|code| lift(code, address, &known, wanted)))
        };
        // (A process that shares this memory may have been killed right here: then nothing is kept.)
        let Ok(mut all) = self.0.try_borrow_mut() else {
            return lifted();
        };
        let same = |(at, purpose, with, _): &&Lifting| {
            (*at, *purpose) == (address, wanted) && *with == known
        };
        if let Some((.., body)) = all.iter().find(same) {
            return Arc::clone(body);
        }
        let body = lifted();
        if all.len() == MOST {
            all.clear();
        }
        all.push((address, wanted, known, Arc::clone(&body)));
        body
    }
}
