//! Whether translations are right.
//!
//! ```text
//! lockstep   telling a tracer where the app is (`run --check`)
//! sample/    comparing with the processor now and then (`run --check=sample`)
//! ```

pub(crate) mod lockstep;
pub(crate) mod sample;
