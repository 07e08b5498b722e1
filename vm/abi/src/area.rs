//! The thread area: what emitted code reaches as `gs:[displacement]`.
//!
//! Emitted and persisted code contains these displacements, so the layout is
//! part of the unit format: a change here changes [`LAYOUT_VERSION`]. The engine
//! embeds [`Area`] as the last field of its own per-thread structure ([`crate::thread`]).
//!
//! ```text
//! gs:0x000  self            address of the area itself
//! gs:0x008  spill[8]        app registers whose place emitted code has taken
//! gs:0x048  entry[16]       addresses of runtime routines (Entry), and room for more
//! gs:0x0c8  app_gs_base     base that the app has given the gs segment
//! gs:0x0d0  scratch[6]      for runtime routines written in assembly
//! gs:0x100  pace            comparisons before the VM looks at what compares itself
//! gs:0x108  filters         what confines the thread's system calls
//! gs:0x110  rseq            the thread's restartable sequences (Rseq)
//! gs:0x148  countdown       lookups of `near` that may fail before the VM is asked
//! gs:0x150  left_at         the branch whose target is looked up
//! gs:0x158  going_to        where an indirect branch goes on
//! gs:0x160  positions[4]    where the next records of buffers go (buffers.rs)
//! gs:0x180  cpuid[4]        for the routine that answers `cpuid`
//! gs:0x1a0  calls           what calls of analysis routines need (Calls)
//! gs:0x778  returns_at      address of the return cache
//! gs:0x780  barred          cannot be read
//! gs:0x21780 returns[8192]  where translated calls expect to be returned to
//! gs:0x32780 near[8192]     where indirect jumps and calls go on (near_index)
//! ```
//! Tools' counters follow behind it ([`crate::counters`]).

use crate::buffers::{MAX_BUFFERS, POSITIONS};
use crate::spills::SPILL_SLOTS;
pub use crate::spills::Spill;
use crate::thread::BEFORE;
use core::sync::atomic::AtomicU64;

/// Counts changes of anything in this module, in [`crate::buffers`], [`crate::counters`] or
/// [`crate::record`], and of where fragments are entered (`ppin_relocator::Fragment::entry`).
pub const LAYOUT_VERSION: u32 = 26;

/// Displacement from `gs` of [`Area::app_gs_base`].
pub const APP_GS_BASE: u32 = 0xc8;

/// Displacement from `gs` of [`Area::pace`].
pub const PACE: u32 = 0x100;

/// Displacement from `gs` of [`Area::rseq`].
pub const RSEQ: u32 = 0x110;

/// Room for runtime routines.
pub const ENTRIES: usize = 16;

/// Displacement from `gs` of [`Area::returns`], which lies at a multiple of its length: so a return comes to
/// an entry by putting the low half of a word into the address of the first.
pub const RETURNS: u32 = BARRED + BARRED_LEN + 8 * BEFORE_RETURNS as u32;

/// The same minus 8, for a `call` that pushes the CPU's return address where the app's will lie. (A direct
/// call pushes it below that.)
pub const RETURNS_BELOW: u32 = RETURNS - 8;

/// Displacement from `gs` of [`Area::returns_at`], the last word before [`Area::barred`].
pub const RETURNS_AT: u32 = BARRED - 8;

/// Displacement from `gs` of [`Area::barred`], which begins with a page.
pub const BARRED: u32 = 0x1000 - BEFORE;

/// Bits of the addresses that programs have on all x86-64 processors; the others are 0. (With five levels of
/// page tables there may be more, if a program asks for them: mmap(2), Intel SDM volume 3, 4.5.)
pub const ADDRESS_BITS: u32 = 47;

/// Bytes of [`Area::barred`]. The bits of its address above [`ADDRESS_BITS`] are a number below this, and a return
/// reads [`Area::returns_at`] so many bytes further on.
pub const BARRED_LEN: u32 = 1 << (64 - ADDRESS_BITS);

/// Words before [`Area::returns`], in a page of their own.
const BEFORE_RETURNS: usize = 0x1000 / 8;

/// Entries of [`Area::returns`]: one for each word of 64 KiB of stack.
pub const RETURN_ENTRIES: usize = 0x10000 / 8;

/// Words behind [`Area::returns`].
const BEHIND_RETURNS: usize = 0x1000 / 8;

/// Bytes of [`Area::returns`].
pub const RETURNS_LEN: u64 = 8 * RETURN_ENTRIES as u64;

/// How far below the stack pointer behind a return the word lies by whose address its entry is found: that
/// below the app's return address, where a direct call pushes the CPU's.
pub const RETURN_WORD: u32 = 16;

/// How far the app's return address lies above that word.
pub const ABOVE_WORD: u32 = RETURN_WORD - 8;

/// What emitted code must know of the thread's registration with rseq(2).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rseq {
    /// Address of the registered `rseq_cs` field; 0: none.
    pub field: u64,
    /// What makes 0 with that address; with one that no memory has if there is none.
    pub against: u64,
    /// The same for addresses relative to the fs segment.
    pub against_fs: u64,
    /// While a sequence runs: registers whose app value lies at home in the spill area, as a
    /// mask ([`Spill::bit`]).
    pub spilled: u64,
    /// App rcx, when a sequence was aborted with nothing spilled.
    pub rcx: u64,
    /// The value that the app is about to store to the field.
    pub value: u64,
    /// The sequence at hand has been announced to the kernel.
    pub armed: u64,
}

impl Rseq {
    /// Makes 0 with an address that is not canonical.
    const AGAINST_NOTHING: u64 = 0x5eed_0000_0000_0001;
    /// No registration.
    pub const NONE: Self = Self {
        field: 0,
        against: Self::AGAINST_NOTHING,
        against_fs: Self::AGAINST_NOTHING,
        spilled: 0,
        rcx: 0,
        value: 0,
        armed: 0,
    };
}

/// See the module's drawing.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Area {
    /// Address of this structure.
    pub self_ptr: u64,
    /// App register values, by slot.
    pub spill: [u64; SPILL_SLOTS],
    /// Runtime routines, by [`Entry`].
    pub entry: [u64; ENTRIES],
    /// Base of the app's own gs segment.
    pub app_gs_base: u64,
    /// For the runtime's own assembly.
    pub scratch: [u64; 6],
    /// Comparisons of provisional code (`Context::PROVISIONAL`) that are left before it leaves
    /// for the VM.
    pub pace: i64,
    /// Address of what confines the thread's system calls (seccomp(2)); 0: nothing.
    pub filters: AtomicU64,
    /// Restartable sequences.
    pub rseq: Rseq,
    /// Lookups of `near` that may fail before the VM is asked: at 0 each one asks, until the VM begins the count anew.
    pub near_countdown: u64,
    /// Cache address inside the indirect jump, indirect call or return whose target is being
    /// looked up.
    pub left_at: u64,
    /// Cache address where an indirect jump or call goes on.
    pub going_to: u64,
    /// Where the next record of each buffer goes ([`crate::buffers`]).
    pub positions: [u64; MAX_BUFFERS],
    /// For the runtime's own assembly, while it answers `cpuid` ([`Entry::Cpuid`]).
    pub cpuid: [u64; 4],
    /// What calls of analysis routines need.
    pub calls: Calls,
    /// Jumps through cells ([`Entry::Mispredicted`]) that may go elsewhere than was predicted before
    /// the VM is asked, as `near_countdown` says.
    pub prediction_countdown: u64,
    /// Jumps by tables ([`crate::predicted::Slots::Cases`]) that may come to a case that is not known before the VM is
    /// asked.
    pub cases_countdown: u64,
    /// The index of such a jump, from where the app overwrites it until the jump is made.
    pub cases_index: u64,
    reserved: [u64; RESERVED],
    /// Address of the return cache.
    pub returns_at: u64,
    /// Cannot be read, so that a return to what no program has for an address faults before it is made.
    pub barred: [u64; BARRED_LEN as usize / 8],
    unused: [u64; BEFORE_RETURNS - 1],
    /// Gets what indirect calls put to the return cache from places on the stack that are multiples of
    /// 64 KiB. Returns do not read it.
    pub before_returns: AtomicU64,
    /// Return cache: by the low 16 bits, without the last three, of the address of the word below an app's return address,
    /// the cache address behind the translated call that was made there last. The app may have put another
    /// return address to the stack since, so the code there compares. 0: none.
    pub returns: [AtomicU64; RETURN_ENTRIES],
    /// A return by an address in the last word that is no multiple of 8 reads its end here. Nothing is written, and the
    /// rest of the page is nobody's: another begins with `near`.
    pub behind_returns: [AtomicU64; BEHIND_RETURNS],
    /// By the low bits of an app address ([`near_index`]) where an indirect jump or call arrives:
    /// code that looks whether the address is the one that it is for, before a fragment
    /// (`ppin_relocator::Fragment::entry`) or in a *landing* (`ppin_indirect`), or
    /// [`Entry::NotNear`]. They are put there by this thread alone, in the VM; others may only take
    /// one away.
    pub near: [AtomicU64; NEAR_ENTRIES],
}

/// Words between what is short and the tables.
const RESERVED: usize = (RETURNS_AT - CASES_INDEX) as usize / 8 - 1;

/// Most states that the tools of a run may have.
pub const MAX_STATES: usize = 32;

/// Most plain analysis routines that the tools of a run may have.
pub const MAX_ROUTINES: usize = 64;

/// What calls of analysis routines need. They are made from emitted code, on the thread's own
/// stack.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Calls {
    /// Top of the stack, a multiple of 16.
    pub stack: u64,
    /// The app's stack pointer while a routine runs.
    pub app_sp: u64,
    /// Dense number of the thread, from 0.
    pub thread: u64,
    /// Where a routine is entered, which keeps all registers but those of its arguments.
    pub routines: [u64; MAX_ROUTINES],
    /// The thread's copies of states.
    pub states: [u64; MAX_STATES],
    /// Machine code of routines: where constants are found that it uses.
    pub code: [u64; MAX_ROUTINES],
    /// What the routine that was called last has returned, as a word.
    pub result: u64,
}

/// Displacement from `gs` of [`Area::calls`].
pub const CALLS: u32 = 0x1a0;

impl Calls {
    /// Displacement from `gs` of [`Calls::stack`].
    pub const STACK: u32 = CALLS;
    /// Displacement from `gs` of [`Calls::app_sp`].
    pub const APP_SP: u32 = CALLS + 8;
    /// Displacement from `gs` of [`Calls::thread`].
    pub const THREAD: u32 = CALLS + 16;
    /// Displacement from `gs` of [`Calls::result`].
    pub const RESULT: u32 = Self::code(MAX_ROUTINES as u16);

    /// Displacement from `gs` of the cell of routine `n`, which is below [`MAX_ROUTINES`].
    #[must_use]
    pub const fn routine(n: u16) -> u32 {
        CALLS + 24 + 8 * n as u32
    }

    /// Displacement from `gs` of the cell of state `n`, which is below [`MAX_STATES`].
    #[must_use]
    pub const fn state(n: u16) -> u32 {
        Self::routine(MAX_ROUTINES as u16) + 8 * n as u32
    }

    /// Displacement from `gs` of the address of routine `n`, which is below [`MAX_ROUTINES`].
    #[must_use]
    pub const fn code(n: u16) -> u32 {
        Self::state(MAX_STATES as u16) + 8 * n as u32
    }
}

/// Where jumps to app address `pc` find their way in [`Area::near`]. Most functions begin at multiples of
/// 16, so the low bits alone would use a sixteenth of the table. Nine times the second byte, which one
/// `lea` makes, spreads over all of them: of the targets of python3, perl, sqlite3 and gcc a third to a
/// quarter as many share an entry as if it were added once.
#[must_use]
pub const fn near_index(pc: u64) -> usize {
    let second_byte = pc >> 8 & 0xff;
    pc.wrapping_add(9 * second_byte) as usize % NEAR_ENTRIES
}

/// Displacement from `gs` of [`Area::near_countdown`].
pub const NEAR_COUNTDOWN: u32 = 0x148;

/// Displacement from `gs` of [`Area::prediction_countdown`].
pub const PREDICTION_COUNTDOWN: u32 = CALLS + size_of::<Calls>() as u32;

/// Displacement from `gs` of [`Area::cases_countdown`].
pub const CASES_COUNTDOWN: u32 = PREDICTION_COUNTDOWN + 8;

/// Displacement from `gs` of [`Area::cases_index`].
pub const CASES_INDEX: u32 = CASES_COUNTDOWN + 8;

/// Displacement from `gs` of [`Area::left_at`].
pub const LEFT_AT: u32 = 0x150;

/// The instruction behind [`Area::left_at`] in indirect jumps and calls that are in line:
/// `mov gs:[LEFT_AT], rax`.
pub const NOTE_BY_RAX: [u8; 9] = {
    let [a, b, c, d] = LEFT_AT.to_le_bytes();
    [0x65, 0x48, 0x89, 0x04, 0x25, a, b, c, d]
};

/// The instruction behind [`Area::left_at`] where jumps through cells go elsewhere than was predicted:
/// `jmp gs:[Entry::Mispredicted]`.
pub const MISPREDICTED: [u8; 8] = {
    let [a, b, c, d] = Entry::Mispredicted.disp().to_le_bytes();
    [0x65, 0xff, 0x24, 0x25, a, b, c, d]
};

/// How a return asks for the bits of its address that no program's has: `shrx rcx, [rsp], rdx`.
pub const ASK_FOR_BITS: [u8; 6] = [0xc4, 0xe2, 0xeb, 0xf7, 0x0c, 0x24];

/// How a call asks which word of 64 KiB its stack pointer points to: `movzx eax, sp; rorx rax, rax, 3`.
pub const WORD_OF_STACK: [u8; 9] = [0x0f, 0xb7, 0xc4, 0xc4, 0xe3, 0xfb, 0xf0, 0xc0, 3];

/// Bytes of [`WORD_OF_STACK`] before what not all processors have.
pub const WORD_ROTATES: u64 = 3;

/// Which instruction faults if there are any: `mov rsp, gs:[rcx + RETURNS_AT]`.
pub const BAR: [u8; 8] = {
    let [a, b, c, d] = RETURNS_AT.to_le_bytes();
    [0x65, 0x48, 0x8b, 0xa1, a, b, c, d]
};

/// Displacement from `gs` of [`Area::going_to`].
pub const GOING_TO: u32 = 0x158;

/// Bytes of the jump to [`Entry::Cpuid`]: `jmp gs:[disp32]`.
pub const CPUID_JUMP: u64 = 8;

/// Displacement from `gs` of [`Area::near`].
pub const NEAR: u32 = RETURNS + RETURNS_LEN as u32 + 8 * BEHIND_RETURNS as u32;

/// Addresses that [`Area::near`] has room for. A short program touches all of its pages, so there are
/// few.
pub const NEAR_ENTRIES: usize = 0x2000;

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Area, spill) == 0x08);
    assert!(offset_of!(Area, entry) == 0x48);
    assert!(offset_of!(Area, rseq) == RSEQ as usize);
    assert!(offset_of!(Area, app_gs_base) == APP_GS_BASE as usize);
    assert!(offset_of!(Area, scratch) == 0xd0);
    assert!(offset_of!(Area, pace) == PACE as usize);
    assert!(offset_of!(Area, near_countdown) == NEAR_COUNTDOWN as usize);
    assert!(offset_of!(Area, left_at) == LEFT_AT as usize);
    assert!(offset_of!(Area, going_to) == GOING_TO as usize);
    assert!(offset_of!(Area, positions) == POSITIONS as usize);
    assert!(offset_of!(Area, returns) == RETURNS as usize);
    assert!(offset_of!(Area, returns_at) == RETURNS_AT as usize);
    assert!(offset_of!(Area, barred) == BARRED as usize);
    assert!(offset_of!(Area, before_returns) == RETURNS_BELOW as usize);
    assert!(offset_of!(Area, near) == NEAR as usize);
    assert!(offset_of!(Area, calls) == CALLS as usize);
    assert!(offset_of!(Area, prediction_countdown) == PREDICTION_COUNTDOWN as usize);
    assert!(offset_of!(Area, cases_countdown) == CASES_COUNTDOWN as usize);
    assert!(offset_of!(Area, cases_index) == CASES_INDEX as usize);
    assert!(offset_of!(Calls, app_sp) == (Calls::APP_SP - CALLS) as usize);
    assert!(offset_of!(Calls, thread) == (Calls::THREAD - CALLS) as usize);
    assert!(offset_of!(Calls, routines) == (Calls::routine(0) - CALLS) as usize);
    assert!(offset_of!(Calls, code) == (Calls::code(0) - CALLS) as usize);
    assert!(offset_of!(Calls, result) == (Calls::RESULT - CALLS) as usize);
    assert!(offset_of!(Calls, states) == (Calls::state(0) - CALLS) as usize);
};

/// Runtime routines that emitted code jumps to as `jmp gs:[disp]`. What each
/// expects is said in [`crate::record`]; all expect the app's other registers,
/// flags and stack pointer in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Entry {
    /// Unlinked direct exit. rcx = address of its [`crate::record::stub`], app rcx spilled.
    LeaveExit = 0,
    /// The VM must raise a fault or explain itself. rcx = `TrapRec`, app rcx spilled.
    LeaveTrap = 1,
    /// System call. rcx = `SyscallRec`; app rcx and r11 are dead there.
    Syscall = 2,
    /// Return, target app address in rcx, app rcx spilled, rsp already popped; [`Area::left_at`]
    /// is set.
    IblRet = 3,
    /// Indirect jump, target app address in rcx, app rcx spilled; [`Area::left_at`] is set.
    IblJmp = 4,
    /// Indirect call, as `IblJmp`, return address already pushed.
    IblCall = 5,
    /// Analysis call. rcx = `CallRec`, app rcx spilled.
    Bridge = 6,
    /// What the gate calls when the cache has been left: `fn(thread) -> cache address`.
    Vm = 7,
    /// What a bridge calls, likewise.
    Analysis = 8,
    /// A return has come to the wrong call: rcx = where it goes less the address that is expected there, rdx =
    /// the negative of that; both spilled at home. [`Area::left_at`] is set, or the target is an address that a
    /// program can have.
    ReturnedElsewhere = 9,
    /// [`Area::near`] does not say where an indirect jump or call goes on: its target in rcx, rcx
    /// and rax spilled at home; [`Area::left_at`] is set.
    NotNear = 10,
    /// What entries of [`Area::returns`] lead to that say nothing: rcx = the target, rcx and rdx
    /// spilled at home. The stack pointer is behind the entry, and the app's is that of rdx plus [`RETURN_WORD`];
    /// [`Area::left_at`] as for `ReturnedElsewhere`.
    Unpaired = 11,
    /// `cpuid`. rcx = cache address of the jump that leads here, app rcx spilled. Comes back behind
    /// that jump, [`CPUID_JUMP`] bytes long.
    Cpuid = 12,
    /// An indirect jump or call has come to a fragment for another address than its own: rcx = the
    /// address that it goes to less that of the fragment, rax = the negative of that less 1; rcx and
    /// rax spilled at home; [`Area::left_at`] is set.
    ArrivedElsewhere = 13,
    /// A jump or call through a cell goes elsewhere than was predicted: its target in rcx, what
    /// [`Area::left_at`] shall be in rax, rcx and rax spilled at home. It comes from behind
    /// [`crate::predicted::CODE`].
    Mispredicted = 14,
}

impl Entry {
    /// Displacement from `gs`, in bytes.
    #[must_use]
    pub const fn disp(self) -> u32 {
        0x48 + 8 * self as u32
    }
}
