//! The tools that come with ppin, linked as they are: for tests of the compiler and of the
//! translation of images, which need tools and no objects. The product loads their objects
//! (`tools/plugins`).
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use ppin_sdk::prelude::Tool;

/// All tools, by name, each with its knobs at their defaults.
#[must_use]
pub fn all() -> Vec<Box<dyn Tool>> {
    alloc::vec![
        Box::new(ppin_tool_bbcount::Bbcount),
        Box::new(ppin_tool_branches::BranchCounts::default()),
        Box::new(ppin_tool_cachesim::Cachesim),
        Box::new(ppin_tool_icount::Icount),
        Box::new(ppin_tool_memtrace::Memtrace::default()),
        Box::new(ppin_tool_null::Null),
        Box::new(ppin_tool_opcodemix::Opcodemix::default()),
    ]
}

/// The tool called `name`, to be configured before it is used.
#[must_use]
pub fn by_name(name: &str) -> Option<Box<dyn Tool>> {
    all().into_iter().find(|tool| tool.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_found_by_its_name() {
        for tool in all() {
            let found = by_name(tool.name()).unwrap();
            assert_eq!(found.about(), tool.about());
        }
        assert!(by_name("nothing").is_none());
    }

    #[test]
    fn names_are_sorted_and_differ() {
        let names: Vec<_> = all().iter().map(|tool| tool.name()).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }

    #[test]
    fn defaults_are_taken_and_unknown_knobs_are_not() {
        for mut tool in all() {
            let defaults: Vec<_> = tool.knobs().iter().map(|k| (k.name, k.default)).collect();
            assert_eq!(tool.configure(&defaults), Ok(()), "{}", tool.name());
            assert!(tool.configure(&[("no-such-knob", "1")]).is_err());
        }
    }
}
