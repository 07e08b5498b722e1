//! Checks that translations do what the app's code does.
//!
//! ```text
//! lockstep   reports each step to a tracer (`run --check`)
//! sample/    compares short stretches with native execution (`run --check=sample`)
//! ```

pub(crate) mod lockstep;
pub(crate) mod sample;
