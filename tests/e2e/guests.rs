//! Every program of tests/guests, natively, cold and warm. The tests are written by
//! build.rs from the files' headers.

#![allow(missing_docs, reason = "generated tests")]

include!(concat!(env!("OUT_DIR"), "/guest_tests.rs"));
