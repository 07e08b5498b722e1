//! The objects of the bundled tools, one for each file of `examples/`. The tools themselves are
//! plain libraries, which tests use as such; a tool in a crate of its own has the line with
//! `ppin_sdk::tool!` there (see `tools/template`).
#![no_std]
