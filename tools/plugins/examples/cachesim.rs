//! The object of `cachesim`.
#![no_std]

ppin_sdk::tool!(ppin_tool_cachesim::Cachesim);
