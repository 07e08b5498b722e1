//! The object of `bbcount`.
#![no_std]

ppin_sdk::tool!(ppin_tool_bbcount::Bbcount);
