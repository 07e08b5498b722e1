//! The tools and the mechanisms that a unit was made for.

use crate::label::Label;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_door::{identity, joined};
use ppin_persist::{UnitFile, options, tool_key};
use ppin_plugin::Chosen;

/// Finds a tool by its name or path and the hash of its object, with its knobs at their defaults;
/// or says why it cannot be had.
pub type Tools<'a> = &'a dyn Fn(&Chosen) -> Result<Box<dyn Tool>, String>;

/// Why the tools of a unit cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoTool {
    /// One of them is not found; why.
    Missing(String),
    /// It does not take its own knobs any more; why.
    Refuses(String, String),
    /// A mechanism of the compiler is not known; what about it.
    Mechanism(String),
    /// The unit's key is that of other tools or knobs than its label tells.
    OtherKnobs,
}

impl fmt::Display for NoTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(why) => f.write_str(why),
            Self::Refuses(name, why) => write!(f, "the tool {name} refuses its knobs: {why}"),
            Self::Mechanism(why) => write!(f, "this ppin compiles otherwise: {why}"),
            Self::OtherKnobs => f.write_str("made with other tools or knobs than it says"),
        }
    }
}

/// The tools that a unit was made for, as one, as they were then, and the mechanisms that were on.
///
/// # Errors
/// Why they cannot be had.
pub fn tool_of(unit: &UnitFile<'_>, tools: Tools<'_>) -> Result<(Box<dyn Tool>, Optimize), NoTool> {
    let label = Label::parse(unit.unit().label());
    let optimize = Optimize::parse(label.optimize.as_deref().unwrap_or("all"));
    let optimize = optimize.map_err(|why| NoTool::Mechanism(why.to_string()))?;
    let (mut found, mut identities) = (Vec::new(), Vec::new());
    for chosen in &label.tools {
        let tool = configured(chosen, tools)?;
        identities.push(identity(chosen, &*tool));
        found.push(tool);
    }
    let options = options(is_low(unit), optimize);
    if tool_key(&identities, &options) != unit.unit().key().tool {
        return Err(NoTool::OtherKnobs);
    }
    let tool = joined(found).map_err(|why| NoTool::Missing(why.to_string()))?;
    Ok((tool, optimize))
}

fn configured(chosen: &Chosen, tools: Tools<'_>) -> Result<Box<dyn Tool>, NoTool> {
    let mut tool = tools(chosen).map_err(NoTool::Missing)?;
    tool.configure(&chosen.pairs())
        .map_err(|why| NoTool::Refuses(chosen.name.clone(), why))?;
    Ok(tool)
}

/// Code of images below 2 GiB lies above them, that of others below.
pub(crate) fn is_low(unit: &UnitFile<'_>) -> bool {
    unit.unit().geometry().displacement > 0
}
