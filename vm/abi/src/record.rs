//! Stubs and records in a fragment's cold section, by which it tells the VM why it was
//! left. They are addressed by `rcx`; every pointer inside a record is relative to the
//! record itself or to the image, so it needs no fixing wherever it lies.
//! All records are 4-byte aligned, little-endian, without padding.

/// The stub of a direct exit, by which it is left as long as it is not linked.
///
/// ```text
/// stub:   jmp [rip + slot]              slot holds `leave` until linked
/// leave:  mov gs:[Spill::Rcx], rcx
///         lea rcx, [rip + stub]
///         jmp short tail
/// tail:   jmp gs:[Entry::LeaveExit]
/// ```
/// The stubs of a fragment stand in a row, in the order of its exits, right before its cold code. So the stub's
/// address says which exit it is, and the fragment's table of exits where that leads. The VM links the exit by
/// storing the target's cache address in the slot and, in writable code, by aiming the branch itself
/// at the target. The compiler makes none: who gives a fragment its place does (`ppin_relocator::write_stubs`).
///
/// Each [`SHARING`](stub::SHARING) stubs, and the last ones, share a tail, which the last of them runs into.
pub mod stub {
    /// From the stub to the 32-bit field of its jump.
    pub const FIELD: u32 = 2;
    /// From the stub to `leave`.
    pub const LEAVE: u32 = 6;
    /// Length, in bytes, of one that runs into the tail.
    pub const LAST: u32 = 22;
    /// Length of one that jumps there.
    pub const LEN: u32 = LAST + 2;
    /// Length of the tail.
    pub const TAIL: u32 = 8;
    /// How many share one: a short jump reaches it.
    pub const SHARING: usize = 6;

    const BLOCK: u32 = (SHARING as u32 - 1) * LEN + LAST + TAIL;

    /// Cold offset of the stub of exit `number`.
    #[must_use]
    pub const fn at(number: usize) -> u32 {
        (number / SHARING) as u32 * BLOCK + (number % SHARING) as u32 * LEN
    }

    /// Length of the stubs of so many exits, tails included.
    #[must_use]
    pub const fn all(exits: usize) -> u32 {
        match exits.checked_sub(1) {
            Some(last) => at(last) + LAST + TAIL,
            None => 0,
        }
    }

    /// The same with what brings the cold code behind them to where it may begin.
    #[must_use]
    pub const fn room(exits: usize) -> u32 {
        all(exits).next_multiple_of(4)
    }

    /// Bytes from behind the stub of exit `number`, one of `exits`, to its tail; `None`: it runs into it.
    #[must_use]
    pub const fn to_tail(number: usize, exits: usize) -> Option<u8> {
        let end = (number / SHARING + 1) * SHARING;
        let last = if end < exits { end } else { exits } - 1;
        match last - number {
            0 => None,
            between => Some((between as u32 * LEN + LAST - LEN) as u8),
        }
    }

    /// The exit, one of so many, whose stub lies at cold offset `at`.
    #[must_use]
    pub const fn number(at: u32, exits: usize) -> Option<usize> {
        let (block, within) = (at / BLOCK, at % BLOCK);
        let nth = (within / LEN) as usize;
        let number = block as usize * SHARING + nth;
        let begins = within.is_multiple_of(LEN) && nth < SHARING;
        if begins && number < exits {
            Some(number)
        } else {
            None
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn stubs_follow_each_other_with_a_tail_behind_some() {
            for exits in 0..4 * SHARING {
                let mut end = 0;
                for number in 0..exits {
                    assert_eq!(at(number), end, "{number} of {exits}");
                    assert_eq!(super::number(end, exits), Some(number));
                    end += match to_tail(number, exits) {
                        Some(_) => LEN,
                        None => LAST + TAIL,
                    };
                }
                assert_eq!(all(exits), end);
                assert_eq!(super::number(end, exits), None);
            }
        }

        #[test]
        fn no_other_place_is_a_stub() {
            let stubs = (0..all(20)).filter_map(|at| number(at, 20));
            assert!(stubs.eq(0..20));
        }

        #[test]
        fn jumps_lead_to_the_tail() {
            for (number, exits) in [(0, 2), (0, 6), (4, 6), (6, 8), (7, 20)] {
                let to = at(number) + LEN + u32::from(to_tail(number, exits).unwrap());
                let last = ((number / SHARING + 1) * SHARING).min(exits) - 1;
                assert_eq!(to, at(last) + LAST, "{number} of {exits}");
            }
            assert_eq!([to_tail(0, 1), to_tail(5, 9), to_tail(8, 9)], [None; 3]);
        }
    }
}

/// A system call.
///
/// ```text
/// hot:    lea rcx, [rip + record]
///         jmp gs:[Entry::Syscall]
/// resume: lea rcx, [rip + app address after the call]     (what the CPU leaves there)
///         jmp exit
/// ```
/// The runtime executes the call with all app registers in place and jumps to
/// `resume`, or handles it in the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct SyscallRec {
    /// The `syscall` instruction, as an `ImageOff`.
    pub pc: i32,
    /// The instruction after it, as an `ImageOff`.
    pub next: i32,
    /// Address of `resume` minus the record's address.
    pub resume: i32,
    /// Context at `next`.
    pub context: u32,
}

/// Why translated code cannot go on by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Trap {
    /// The bytes are no instruction: raise what the CPU raises (SIGILL).
    Undecodable = 1,
    /// The bytes could not be read: raise what the MMU raises.
    Unreadable = 2,
    /// A legal instruction that has no form in the cache: the CPU runs it in its own
    /// place.
    Unsupported = 3,
    /// `int 0x80`.
    Int80 = 4,
    /// It uses the gs segment, which is the runtime's, in a way that is not rewritten:
    /// the CPU runs it in its own place, with the app's gs.
    Segment = 5,
    /// A restartable sequence was aborted: the instruction is its abort handler. App rcx
    /// lies in [`crate::area::Rseq::rcx`], unless it is spilled.
    RseqAbort = 6,
    /// A store to the thread's `rseq_cs` field, of a value that the code does not know
    /// ([`crate::area::Rseq::value`]).
    RseqStore = 7,
    /// The head of a restartable sequence, with a value in the field that the code does
    /// not know.
    RseqEntry = 8,
    /// An instruction that cannot run inside a restartable sequence.
    RseqUnsupported = 9,
    /// The app's bytes from this instruction on are not those that were translated.
    Changed = 10,
    /// The app's bytes are what was translated, but a store of the trace that begins with this instruction may
    /// change them.
    Near = 11,
}

/// A trap, reached as `mov gs:[Spill::Rcx], rcx; lea rcx, [rip + record];
/// jmp gs:[Entry::LeaveTrap]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct TrapRec {
    /// The instruction, as an `ImageOff`.
    pub pc: i32,
    /// A [`Trap`].
    pub kind: u32,
    /// Context of the instruction.
    pub context: u32,
}

/// Call of an analysis routine, reached as a trap is, through [`crate::area::Entry::Bridge`].
/// Followed directly by `args` times [`CallArg`].
/// If a routine decides about another call, that one and its arguments follow [`ArgKind::Then`].
/// The bridge goes on at `resume` with every app register in place, rcx included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct CallRec {
    /// Address at which emitted code goes on, minus the record's address.
    pub resume: i32,
    /// The app instruction, as an `ImageOff`.
    pub pc: i32,
    /// Index into the tool's routine table.
    pub routine: u16,
    /// Number of [`CallArg`] that follow, at most [`MAX_ARGS`] for each of the two calls, and one
    /// between them.
    pub args: u16,
}

/// In [`CallRec::routine`], no tool's: the app has just stored an x87 instruction pointer.
/// Arguments: the image's address, the field's offset and its size in bytes.
pub const X87_POINTER: u16 = u16::MAX;

/// In [`CallRec::routine`], plus the number of a buffer: the buffer is full, and no register of a
/// record has been read yet.
pub const BUFFER_FULL: u16 = 0xfff0;

/// In [`CallRec::routine`], plus the number of a buffer: append a record to it, whose fields are
/// the arguments.
pub const BUFFER_APPEND: u16 = 0xffe0;

/// Arguments of an analysis call: the integer registers of the System V ABI.
pub const MAX_ARGS: usize = 6;

/// One argument: what to compute from the app's registers at the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct CallArg {
    /// An [`ArgKind`].
    pub kind: u8,
    /// Base register number (hardware encoding, 0 rax to 15 r15) or [`NO_REG`].
    pub base: u8,
    /// Index register number or [`NO_REG`].
    pub index: u8,
    /// Low nibble: log2 of the scale. Bit 4: fs segment. Bit 5: gs segment.
    /// Bit 6: 32-bit address size.
    pub scale_seg: u8,
    /// Constant, displacement or `ImageOff`, low and high half.
    pub value: [u32; 2],
}

/// No register, in [`CallArg`].
pub const NO_REG: u8 = 0xff;

/// What a [`CallArg`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ArgKind {
    /// `value` itself.
    Const = 0,
    /// App address at `ImageOff` `value[0]`.
    AppAddr = 1,
    /// Value of register `base`.
    Reg = 2,
    /// Effective address: segment + base + index * scale + sign-extended `value`.
    EffectiveAddr = 3,
    /// Effective address of a rip-relative operand: `ImageOff` `value[0]`.
    ImageAddr = 4,
    /// Thread index, dense from 0.
    ThreadId = 5,
    /// Address of the thread's copy of state `value[0]`.
    State = 6,
    /// No argument: what stands before it decides, and routine `value[0]` is called with what
    /// follows if the result is not 0.
    Then = 7,
    /// No argument: the result of the routine is put into the app's register `base`, or, if that
    /// is 16, to [`crate::area::Calls::result`].
    Into = 8,
}
