//! Traces with predictable results, for a tracer that steps a native process in lockstep with this
//! one.

use ppin_api::Tool;
use ppin_jit::{Chosen, Request};
use ppin_relocator::Fragment;

/// Ends a trace at an instruction whose result is unpredictable (such as `rdtsc`), so that the
/// tracer can copy the result after it.
pub(crate) fn compile(request: &Request<'_>, chosen: &Chosen, tool: &dyn Tool) -> Fragment {
    if let Some(end) = unpredictable(request.bytes) {
        let cut = Request {
            max_source: Some(end as u32),
            ..*request
        };
        let fragment = ppin_jit::compile(&cut, tool);
        // (The bytes found may have been part of another instruction.)
        if fragment.instructions != 0 {
            return fragment;
        }
    }
    ppin_jit::compile_chosen(request, chosen, tool)
}

/// End of what looks like the first `rdtsc`, `rdtscp`, `cpuid`, `rdrand` or `rdseed`.
fn unpredictable(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len()).find_map(|at| match bytes[at..] {
        [0x0f, 0x31 | 0xa2, ..] => Some(at + 2),
        [0x0f, 0x01, 0xf9, ..] | [0x0f, 0xc7, 0xf0..=0xff, ..] => Some(at + 3),
        _ => None,
    })
}
