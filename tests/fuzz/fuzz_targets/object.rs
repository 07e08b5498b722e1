//! Any bytes as the object of a tool.
#![no_main]

use ppin_plugin::{Card, Object};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(object) = Object::parse(bytes) {
        // What was accepted can be laid out, and its description read.
        let _ = Card::read(&object, 0);
        assert!(object.protections().all(|part| part.pages.end <= object.span()));
    }
});
