//! The tool and the mechanisms that a unit was made for.

use crate::label::Label;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_persist::{UnitFile, options};

/// Finds the tool of a name, with its knobs at their defaults.
pub type Tools<'a> = &'a dyn Fn(&str) -> Option<Box<dyn Tool>>;

/// Why the tool of a unit cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoTool {
    /// There is none of this name.
    Unknown(String),
    /// It does not take its own knobs any more; why.
    Refuses(String, String),
    /// A mechanism of the compiler is not known; what about it.
    Mechanism(String),
    /// The unit's key is that of other knobs than its label tells.
    OtherKnobs(String),
}

impl fmt::Display for NoTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "this ppin has no tool {name:?}"),
            Self::Refuses(name, why) => write!(f, "the tool {name} refuses its knobs: {why}"),
            Self::Mechanism(why) => write!(f, "this ppin compiles otherwise: {why}"),
            Self::OtherKnobs(name) => write!(f, "made with other knobs of {name} than it says"),
        }
    }
}

/// The tool that a unit was made for, as it was then, and the mechanisms that were on.
///
/// # Errors
/// Why it cannot be had.
pub fn tool_of(unit: &UnitFile<'_>, tools: Tools<'_>) -> Result<(Box<dyn Tool>, Optimize), NoTool> {
    let label = Label::parse(unit.unit().label());
    let name = || label.tool.clone();
    let mut tool = tools(&label.tool).ok_or_else(|| NoTool::Unknown(name()))?;
    tool.configure(&label.pairs())
        .map_err(|why| NoTool::Refuses(name(), why))?;
    let optimize = Optimize::parse(label.optimize.as_deref().unwrap_or("all"));
    let optimize = optimize.map_err(|why| NoTool::Mechanism(why.to_string()))?;
    let options = options(is_low(unit), optimize);
    if label.key(&*tool, &options) != unit.unit().key().tool {
        return Err(NoTool::OtherKnobs(name()));
    }
    Ok((tool, optimize))
}

/// Code of images below 2 GiB lies above them, that of others below.
pub(crate) fn is_low(unit: &UnitFile<'_>) -> bool {
    unit.unit().geometry().displacement > 0
}
