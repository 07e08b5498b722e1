//! Returns that the return cache says nothing about (`ppin_abi::area::Area::returns`): they are
//! looked up as other indirect branches are. All others stay in emitted code
//! (`ppin_lower`'s `ret.rs`). The flags stay as they are.

use super::disp;
use ppin_abi::area::{
    ABOVE_WORD, ASK_FOR_BITS, Area, BAR, Entry, RETURN_WORD, RETURNS_LEN, WORD_OF_STACK,
    WORD_ROTATES,
};
use ppin_os::peek;

unsafe extern "C" {
    /// See [`ppin_abi::area::Entry::Unpaired`].
    pub fn ret_unpaired();
    /// See [`ppin_abi::area::Entry::ReturnedElsewhere`].
    pub fn returned_elsewhere();
    /// The address after the last instruction.
    pub fn ret_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl ret_unpaired, returned_elsewhere, ret_end",
    ".hidden ret_unpaired", ".hidden returned_elsewhere", ".hidden ret_end",
    "ret_unpaired:",
    "lea rsp, [rdx + {word}]",      // as emitted code does behind a call
    "mov rdx, gs:[{rdx}]",
    "jmp gs:[{lookup}]",

    "returned_elsewhere:",
    "not rdx",
    "lea rcx, [rcx + rdx + 1]",     // the difference and what was subtracted
    "mov rdx, gs:[{rdx}]",
    "jmp gs:[{lookup}]",
    "ret_end:",
    rdx = const disp::SPILL_RDX,
    word = const RETURN_WORD,
    lookup = const Entry::IblRet.disp(),
);

fn address(routine: unsafe extern "C" fn()) -> u64 {
    routine as usize as u64
}

/// The CPU's return address, which lies at `rsp` below the app's, goes to the return cache, as where
/// translated calls lead to ([`ppin_abi::context::Context::CALLED`]); its place becomes 0. Returns the
/// app's stack pointer.
#[must_use]
pub fn called(area: &Area, rsp: u64) -> u64 {
    let address = peek::read_value(rsp).unwrap_or_else(unpaired);
    put(entry_of(area, rsp), address);
    put(rsp, 0);
    rsp.wrapping_add(8)
}

/// The word below `rsp`, where a callee begins, becomes 0 if the CPU's return address is still there.
pub fn clear_below(area: &Area, rsp: u64) {
    let below = rsp.wrapping_sub(8);
    let noted: Option<u64> = peek::read_value(entry_of(area, below));
    if noted.is_some() && peek::read_value(below) == noted {
        put(below, 0);
    }
}

/// Writes to memory that the thread itself has just written to, or that is its own.
fn put(at: u64, value: u64) {
    let _ = peek::write_value(at, &value);
}

/// The address of the entry for a return address above the word at address `below`. (As a stack need not be
/// aligned, there may be more words that have this one.)
fn entry_of(area: &Area, below: u64) -> u64 {
    area.returns_at + u64::from(below as u16 & !7)
}

fn unpaired() -> u64 {
    address(ret_unpaired)
}

/// Where a thread goes on that has come to `pc`, which is no code of ours, by a return: its stack pointer
/// `rsp` is behind what the cache says. Either the cache has no entry yet, which is filled, or another thread has just
/// unmapped the unit, or a stack pointer that is no multiple of 8 has led to parts of two.
#[must_use]
pub fn returned_to_nowhere(area: &Area, pc: u64, rsp: u64) -> Option<u64> {
    let entry = rsp.wrapping_sub(8);
    (of_cache(area, entry) && peek::read_value(entry) == Some(pc)).then(|| {
        fill(entry);
        unpaired()
    })
}

/// Returns by an entry, if there is one at this address, are looked up from now on.
fn fill(entry: u64) {
    if entry.is_multiple_of(8) {
        put(entry, unpaired());
    }
}

/// The same where the CPU refuses the return at `pc`, since such parts make no address, and `rsp` is at them:
/// where it goes on, and with which stack pointer.
#[must_use]
pub fn refused(area: &Area, pc: u64, rsp: u64) -> Option<(u64, u64)> {
    const RET: u8 = 0xc3;
    (of_cache(area, rsp) && peek::read_value(pc) == Some(RET)).then(|| {
        fill(rsp);
        (unpaired(), rsp.wrapping_add(8))
    })
}

/// What a call goes on with that has asked at `pc` which word of the stack it is at, and `rax`, where the processor
/// lacks the instruction (`ppin_os::process::processor::likely_shifts`).
#[must_use]
pub fn rotated(pc: u64, rax: u64) -> Option<(u64, u64)> {
    let asked: [u8; WORD_OF_STACK.len()] = peek::read_value(pc.wrapping_sub(WORD_ROTATES))?;
    (asked == WORD_OF_STACK).then(|| {
        let behind = pc - WORD_ROTATES + WORD_OF_STACK.len() as u64;
        (behind, rax.rotate_right(3))
    })
}

/// How a return that looks at its address goes on, if it has faulted at `pc`: hardly any program has such an
/// address, or the processor lacks the instruction that looks (`ppin_os::process::processor::likely_shifts`).
/// The address is looked up, and what comes of it is the return's doing. `rsp` is the app's.
#[must_use]
pub fn barred(area: &mut Area, pc: u64, rsp: u64) -> Option<Barred> {
    let behind = looks(pc)?;
    let target = peek::read_value(rsp)?;
    area.left_at = pc;
    let further = further(behind);
    Some(Barred {
        rip: unpaired(),
        rcx: target,
        rdx: rsp.wrapping_sub(ABOVE_WORD.into()).wrapping_add(further),
    })
}

/// Where a return goes on that looks at its address at `pc`.
fn looks(pc: u64) -> Option<u64> {
    /// Bytes between the two instructions: those of `lea rdx, [rsp - 8]`.
    const BETWEEN: u64 = 5;
    let behind_bar = |pc| (peek::read_value(pc) == Some(BAR)).then_some(pc + BAR.len() as u64);
    let asks = peek::read_value(pc) == Some(ASK_FOR_BITS);
    behind_bar(pc).or_else(|| {
        let bar = pc + ASK_FOR_BITS.len() as u64 + BETWEEN;
        asks.then(|| behind_bar(bar)).flatten()
    })
}

/// What a return that goes on at `pc`, where it has looked at its address, takes from the stack beside it.
fn further(pc: u64) -> u64 {
    /// Bytes of `mov rcx, [rdx + 8]; mov sp, dx`.
    const READS: u64 = 7;
    const LEA_BYTE: [u8; 3] = [0x48, 0x8d, 0x52];
    const LEA: [u8; 3] = [0x48, 0x8d, 0x92];
    let lea = pc + READS;
    let disp = lea + LEA.len() as u64;
    match peek::read_value(lea) {
        Some(LEA_BYTE) => peek::read_value::<u8>(disp).map_or(0, u64::from),
        Some(LEA) => peek::read_value::<u32>(disp).map_or(0, u64::from),
        _ => 0,
    }
}

/// The registers with which such a return goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Barred {
    /// A routine.
    pub rip: u64,
    /// The app's return address.
    pub rcx: u64,
    /// What finds the entry of the return cache.
    pub rdx: u64,
}

/// The app's stack pointer where its code faults at `rsp` and `rdx`. It is not `rsp` where a return reads its
/// address once more, and another thread has just unmapped the stack.
#[must_use]
pub fn stack_of(area: &Area, rsp: u64, rdx: u64) -> u64 {
    match of_cache(area, rsp) {
        true => rdx.wrapping_add(ABOVE_WORD.into()),
        false => rsp,
    }
}

fn of_cache(area: &Area, entry: u64) -> bool {
    entry.wrapping_sub(area.returns_at) < RETURNS_LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::thread;

    #[test]
    fn the_cache_lies_at_a_multiple_of_its_length() {
        let area = &thread(11).area;
        assert_eq!(area.returns_at, area.returns.as_ptr() as u64);
        assert!(area.returns_at.is_multiple_of(RETURNS_LEN));
    }

    #[test]
    fn a_return_to_nowhere_is_looked_up_if_the_cache_says_so() {
        peek::never_fault();
        let area = &thread(12).area;
        for offset in [0, 8, 13, RETURNS_LEN - 8, RETURNS_LEN - 1] {
            let entry = area.returns_at + offset;
            put(entry, 0x1234);
            assert_eq!(returned_to_nowhere(area, 0x1235, entry + 8), None);
            assert_eq!(
                returned_to_nowhere(area, 0x1234, entry + 8),
                Some(unpaired())
            );
            let filled = peek::read_value(entry) == Some(unpaired());
            assert_eq!(filled, offset % 8 == 0, "an entry, not parts of two");
        }
        let outside = [area.returns_at - 8, area.returns_at + RETURNS_LEN];
        assert_eq!(
            outside.map(|entry| returned_to_nowhere(area, 0, entry + 8)),
            [None; 2]
        );
    }

    #[test]
    fn a_return_that_is_refused_is_looked_up() {
        peek::never_fault();
        let area = &thread(13).area;
        let bytes = [0xc3_u8, 0x90];
        let code = bytes.as_ptr() as u64;
        let entry = area.returns_at + 3;
        let before: Option<u64> = peek::read_value(entry);
        assert_eq!(refused(area, code, entry), Some((unpaired(), entry + 8)));
        assert_eq!(peek::read_value(entry), before, "parts of two");
        assert_eq!(refused(area, code + 1, entry), None, "no return");
        assert_eq!(refused(area, code, code), None, "not at the cache");
    }

    #[test]
    fn a_call_is_told_its_place_where_the_processor_cannot_tell() {
        peek::never_fault();
        let code = [&WORD_OF_STACK[..], &[0x90]].concat();
        let start = code.as_ptr() as u64;
        let behind = start + WORD_OF_STACK.len() as u64;
        for (rax, word) in [(0xfff8, 0x1fff), (0x11, 2 | 1 << 61), (7, 7 << 61)] {
            let told = rotated(start + WORD_ROTATES, rax);
            assert_eq!(told, Some((behind, word)));
        }
        assert_eq!(rotated(start + 4, 0), None, "not there");
    }

    #[test]
    fn a_return_that_has_found_its_address_barred_is_looked_up() {
        const LEA: [u8; 5] = [0x48, 0x8d, 0x54, 0x24, 0xf8];
        peek::never_fault();
        let area = &mut thread(15).area;
        let code = [&ASK_FOR_BITS[..], &LEA, &BAR].concat();
        let stack = [0x1234_5678_1234_5678_u64];
        let [pc, rsp] = [code.as_ptr() as u64, stack.as_ptr() as u64];
        let goes_on = Some(Barred {
            rip: unpaired(),
            rcx: stack[0],
            rdx: rsp - 8,
        });
        for at in [pc, pc + 11] {
            assert_eq!(barred(area, at, rsp), goes_on);
            assert_eq!(area.left_at, at, "it is the return's doing");
        }
        assert_eq!(barred(area, pc + 6, rsp), None, "another instruction");
        assert_eq!(barred(area, pc, 8), None, "the stack cannot be read");
        let alone = [&ASK_FOR_BITS[..], &[0x90; 13]].concat();
        assert_eq!(barred(area, alone.as_ptr() as u64, rsp), None, "the app's");
    }

    #[test]
    fn it_has_taken_along_what_the_return_does() {
        peek::never_fault();
        let area = &mut thread(15).area;
        const READS: [u8; 7] = [0x48, 0x8b, 0x4a, 8, 0x66, 0x89, 0xd4];
        let stack = [0_u64];
        let rsp = stack.as_ptr() as u64;
        let ways: [(&[u8], u64); 3] = [
            (&[0xc3, 0, 0, 0, 0, 0, 0], 0),
            (&[0x48, 0x8d, 0x52, 0x7f, 0xc3, 0, 0], 0x7f),
            (&[0x48, 0x8d, 0x92, 0xf8, 0xff, 0, 0], 0xfff8),
        ];
        for (lea, further) in ways {
            let code = [&BAR[..], &READS, lea].concat();
            let goes_on = barred(area, code.as_ptr() as u64, rsp).map(|barred| barred.rdx);
            assert_eq!(goes_on, Some(rsp - 8 + further));
        }
    }

    #[test]
    fn what_lies_before_the_cache_cannot_be_read() {
        peek::never_fault();
        let area = &thread(16).area;
        let bar = &raw const area.returns_at as u64;
        assert_eq!(peek::read_value(bar), Some(area.returns_at));
        for bits in [1, 7, 8, 0x1000, 0xffff, 0x1_0000, 0x1_ffff] {
            assert_eq!(peek::read_value::<u64>(bar + bits), None, "{bits:#x}");
        }
    }

    #[test]
    fn the_stack_pointer_is_the_apps() {
        let area = &thread(17).area;
        assert_eq!(stack_of(area, 0x7000, 1), 0x7000);
        assert_eq!(stack_of(area, area.returns_at + 8, 0x7000), 0x7008);
    }

    #[test]
    fn what_the_cpu_has_pushed_goes_to_the_cache() {
        peek::never_fault();
        let area = &thread(14).area;
        for shift in 0..8 {
            let mut stack = [0x5555_u64; 4];
            let rsp = stack.as_mut_ptr() as u64 + shift;
            put(rsp, 0x7777);
            assert_eq!(called(area, rsp), rsp + 8);
            assert_eq!(peek::read_value(rsp), Some(0_u64), "nothing of ours stays");
            assert_eq!(peek::read_value(entry_of(area, rsp)), Some(0x7777_u64));
            put(rsp, 0x7777);
            clear_below(area, rsp + 8);
            assert_eq!(peek::read_value(rsp), Some(0_u64));
            put(rsp, 0x8888);
            clear_below(area, rsp + 8);
            assert_eq!(peek::read_value(rsp), Some(0x8888_u64), "the app's");
        }
    }
}
