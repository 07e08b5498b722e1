//! `cpuid`. On virtual machines it takes microseconds, and the loader of every program asks some
//! seventy times, so the runtime remembers answers that do not change.
//!
//! ```text
//! Target:  cpuid
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + 0]               the jump
//!          jmp gs:[Entry::Cpuid]
//!  resume: ...                              rax, rbx, rcx and rdx are the answer
//! ```

use super::site::Site;
use super::verbatim;
use ppin_abi::area::Entry;
use ppin_abi::optimize::Optimize;
use ppin_form::{Form, Gpr, Need, Op};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    if !form.optimize.has(Optimize::CPUID) || form.sequence.is_some() {
        return verbatim::lower(form, site);
    }
    let [jump] = form.take([Need::fixed(Gpr::RCX)]);
    form.push(Op::Here { to: jump.into() });
    form.jump(Entry::Cpuid);
    form.gone(&[jump]);
}
