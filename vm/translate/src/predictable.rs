//! Traces with predictable results, for a tracer that steps a native process in lockstep with this
//! one.

use ppin_api::Tool;
use ppin_jit::{Chosen, Request};
use ppin_relocator::{Fragment, Shape};

/// Ends a trace at an instruction whose result is unpredictable (such as `rdtsc`), so that the
/// tracer can copy the result after it.
pub(crate) fn compile(request: &Request<'_>, chosen: &Chosen, tool: &dyn Tool) -> Fragment {
    if let Some(end) = unpredictable(request.bytes) {
        let cut = Request {
            max_source: Some(end as u32),
            shape: Shape::STRAIGHT,
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

#[cfg(test)]
mod tests {
    use super::unpredictable;
    use crate::testing::{RET, World};
    use ppin_abi::boot::flag;

    #[test]
    fn the_first_unpredictable_instruction_is_found() {
        assert_eq!(unpredictable(&[0x90, 0x0f, 0x31, 0x0f, 0xa2]), Some(3));
        assert_eq!(unpredictable(&[0x0f, 0x01, 0xf9]), Some(3), "rdtscp");
        assert_eq!(unpredictable(&[0x0f, 0xc7, 0xf0]), Some(3), "rdrand");
        assert_eq!(unpredictable(&[0x0f, 0xc7, 0x08, 0x0f, 0x30]), None);
        assert_eq!(unpredictable(&[0x90, 0x0f]), None, "cut off");
    }

    #[test]
    fn under_a_tracer_a_trace_ends_behind_an_unpredictable_result() {
        let code = [0x90, 0x0f, 0x31, 0x90, RET];
        for (flags, len) in [(0, 5), (flag::LOCKSTEP, 3)] {
            let mut world = World::with_flags(flags);
            world.put(0, &code);
            assert_eq!(world.len_at(0), len);
        }
    }

    #[test]
    fn bytes_inside_an_instruction_do_not_end_a_trace() {
        let mut world = World::with_flags(flag::LOCKSTEP);
        // mov eax, 0xa20f; ret
        world.put(0, &[0xb8, 0x0f, 0xa2, 0, 0, RET]);
        assert_eq!(world.len_at(0), 6);
    }
}
