//! The object of `opcodemix`.
#![no_std]

ppin_sdk::tool!(ppin_tool_opcodemix::Opcodemix);
