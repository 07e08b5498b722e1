//! The object of `branches`.
#![no_std]

ppin_sdk::tool!(ppin_tool_branches::BranchCounts);
