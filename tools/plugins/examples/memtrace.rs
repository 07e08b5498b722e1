//! The object of `memtrace`.
#![no_std]

ppin_sdk::tool!(ppin_tool_memtrace::Memtrace);
