//! The object of `icount`.
#![no_std]

ppin_sdk::tool!(ppin_tool_icount::Icount);
