//! Any bytes as a unit file, as an image and as a file name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ppin_fuzz::exercise(bytes);
    let _ = ppin_persist::identity::of_file(bytes);
    if let Some(name) = ppin_persist::paths::UnitName::parse(bytes) {
        assert_eq!(name.file_name().as_bytes(), bytes);
    }
});
