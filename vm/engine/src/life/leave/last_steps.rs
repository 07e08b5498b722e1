//! The runtime's last instructions in a process that is left: they unmap all other memory of the
//! runtime, then the kernel loads the program's registers. They run in a page of their own, which
//! also holds their data:
//!
//! ```text
//! page      the instructions
//!           start and length of each range to be unmapped; a length of 0 ends the list
//!           the context, then the vector state (64-aligned)
//! ```
//! They use no stack. The kernel lists the page in a core file as a segment without contents.

use alloc::vec::Vec;
use ppin_os::frame::{self, UContext};
use ppin_os::{c, mem, place, raw};
use ppin_process::ours::Range;

unsafe extern "C" {
    /// rdi: the list; rsi: the context.
    fn last_steps(ranges: u64, context: u64) -> !;
    fn last_steps_end();
}

core::arch::global_asm!(
    ".text",
    ".globl last_steps, last_steps_end",
    ".hidden last_steps",
    ".hidden last_steps_end",
    "last_steps:",
    "mov r12, rdi",
    "mov r13, rsi",
    "2:",
    "mov rdi, [r12]",
    "mov rsi, [r12 + 8]",
    "test rsi, rsi",
    "jz 3f",
    "mov eax, 11",
    "syscall",
    "add r12, 16",
    "jmp 2b",
    "3:",
    "mov rsp, r13",
    "mov eax, 15",
    "syscall",
    "ud2",
    "last_steps_end:",
);

/// A page with the last instructions, ready to be executed.
#[derive(Debug)]
pub(crate) struct LastSteps {
    start: u64,
    len: u64,
    list: u64,
    context: u64,
}

const ALIGN: u64 = 64;

impl LastSteps {
    /// Prepares the page for `context` and for unmapping the ranges `ours` except `kept` and the
    /// page itself. `None`: there is no memory, or it cannot be made executable.
    #[must_use]
    pub(crate) fn new(context: &UContext, ours: &[Range], kept: &[Range]) -> Option<Self> {
        let (code, end) = (
            last_steps as *const () as u64,
            last_steps_end as *const () as u64,
        );
        let vector = frame::vector_state(context.fpstate);
        // (Each kept range, and the page, may cut a range in two; a zero entry ends the list.)
        let list_len = 16 * (ours.len() + kept.len() + 2) as u64;
        let list_at = (end - code).next_multiple_of(16);
        let context_at = (list_at + list_len).next_multiple_of(16);
        let vector_at = (context_at + size_of::<UContext>() as u64).next_multiple_of(ALIGN);
        let len = mem::page_up(vector_at + vector.len() as u64);
        let start = place::anywhere(len, mem::RW).ok()?;
        let page = Self {
            start,
            len,
            list: start + list_at,
            context: start + context_at,
        };
        let mut context = *context;
        if !vector.is_empty() {
            context.fpstate = start + vector_at;
        }
        // SAFETY: fresh memory of the size computed above; the code is the runtime's.
        unsafe {
            copy(code as *const u8, start, end - code);
            copy(vector.as_ptr(), start + vector_at, vector.len() as u64);
            (page.context as *mut UContext).write(context);
            let list = without(without(ours.to_vec(), kept), &[page.range()]);
            for (n, (from, to)) in list.into_iter().enumerate() {
                ((page.list + 16 * n as u64) as *mut [u64; 2]).write([from, to - from]);
            }
            mem::protect(start, len, mem::RX).ok()?;
        }
        Some(page)
    }

    /// Start and end of the page.
    #[must_use]
    pub(crate) fn range(&self) -> Range {
        (self.start, self.start + self.len)
    }

    /// Executes the last instructions.
    ///
    /// # Safety
    /// No other thread needs the memory that is unmapped, signals are blocked, and the context is
    /// complete.
    pub(crate) unsafe fn take(self) -> ! {
        // SAFETY: a copy of `last_steps` lies at the start of the page.
        let steps: unsafe extern "C" fn(u64, u64) -> ! =
            unsafe { core::mem::transmute(self.start as *const ()) };
        // SAFETY: the caller's promise.
        unsafe { steps(self.list, self.context) }
    }
}

/// The parts of `ranges` that are not in `kept`.
fn without(ranges: Vec<Range>, kept: &[Range]) -> Vec<Range> {
    kept.iter().fold(ranges, |ranges, &(low, high)| {
        let cut = |(from, to): Range| [(from, to.min(low)), (from.max(high), to)];
        let pieces = ranges.into_iter().flat_map(cut);
        pieces.filter(|(from, to)| from < to).collect()
    })
}

/// # Safety
/// `len` bytes can be read at `from` and written at `to`, to which nothing refers.
unsafe fn copy(from: *const u8, to: u64, len: u64) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(from, to as *mut u8, len as usize) }
}

/// Excludes memory from core files.
pub(crate) fn keep_out_of_core((start, end): Range) {
    let args = [
        start as usize,
        (end - start) as usize,
        c::MADV_DONTDUMP as usize,
        0,
        0,
        0,
    ];
    // SAFETY: affects core files only. (Unmapped memory is ignored.)
    unsafe { raw(c::__NR_madvise, args) };
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn what_is_kept_cuts_ranges() {
        let ranges = alloc::vec![(10, 20), (30, 40), (50, 60)];
        let expected = [(10, 12), (14, 20), (35, 40)];
        assert_eq!(without(ranges, &[(12, 14), (25, 35), (50, 60)]), expected);
    }
}
