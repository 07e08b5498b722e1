//! The object of `null`.
#![no_std]

ppin_sdk::tool!(ppin_tool_null::Null);
