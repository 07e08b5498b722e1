//! The operations of the intermediate form.

use crate::temp::{Living, Temp, Temps};
use ppin_abi::addr::ImageOff;
use ppin_abi::area::Entry;
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSlot;
use ppin_decode::Gpr;

/// Where an operation finds or leaves a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reg {
    /// In a register of the app.
    App(Gpr),
    /// In a register that the allocator chooses.
    Temp(Temp),
}

impl From<Temp> for Reg {
    fn from(temp: Temp) -> Self {
        Self::Temp(temp)
    }
}

impl From<Gpr> for Reg {
    fn from(register: Gpr) -> Self {
        Self::App(register)
    }
}

/// An instruction of the trace, by its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InsId(pub u16);

/// A record by which code speaks to the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordId(pub u16);

/// A place that branches of inserted code lead to, forward but for one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(pub u16);

/// A place to which a routine of the VM comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Again(pub u16);

/// `base + (index << scale) + disp`, with the app's values of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sum {
    /// Register that counts once.
    pub base: Option<Gpr>,
    /// Register that counts `2^scale` times.
    pub index: Option<Gpr>,
    /// 0 to 3.
    pub scale: u8,
    /// Bytes.
    pub disp: i32,
    /// Bits of the sum.
    pub width: Width,
}

/// A cell of the thread area, by its displacement from `gs`; or, on top of a temporary, from
/// where that points in the area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// A displacement from `gs`.
    pub base: Option<Temp>,
    /// Bytes from there, or from `gs`.
    pub disp: i32,
}

impl Cell {
    /// The cell at `gs:[disp]`.
    pub const fn at(disp: i32) -> Self {
        Self { base: None, disp }
    }
}

/// Bits of a register that an operation works on; the upper half becomes 0 with 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

/// Temporaries that an instruction of a lifted routine names, in the order of its virtual registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiftedUses {
    /// The temporaries; those that are not named are any.
    pub temps: [Temp; 4],
    /// A bit for each that is read, and for each that is written.
    pub reads: u8,
    /// See `reads`.
    pub writes: u8,
    /// It destroys the flags.
    pub flags: bool,
}

/// One operation. Where nothing else is said, it works on 64 bits, leaves the flags alone and
/// cannot fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "what a variant says names its fields")]
pub enum Op {
    // The app's instructions.
    /// An app instruction begins: nothing of it has run, all registers are the app's.
    Begin { ins: InsId, block: bool },
    /// Behind `Begin`: records of this instruction or of later ones have been stored already.
    Ahead,
    /// Behind what was inserted before it: what follows is the instruction itself.
    /// `repeatable`: an interruption here may go on from its beginning.
    Itself { repeatable: bool },
    /// What follows belongs to the instruction behind `ins`.
    Done { ins: InsId },
    /// What follows belongs to `ins`, of which a part has run.
    Inside { ins: InsId },
    /// The instruction as it is. May fault.
    App { ins: InsId },
    /// `Begin` and `App`, with nothing in between: most instructions are that.
    Plain { ins: InsId, block: bool },
    /// The instruction, its rip-relative operand aimed at the same address. May fault.
    AppAimed { ins: InsId },
    /// The instruction, with `base` in place of the gs segment and the base register of its
    /// operand. May fault.
    AppRebased { ins: InsId, base: Temp },
    /// No operation.
    Nop,

    // Lifetimes. In between, the temporaries' registers are not the app's.
    /// Gives registers to temporaries; what the app has in them is kept if need be.
    Take { temps: Temps },
    /// Ends their lives: the app's values are put back.
    Give { temps: Temps },
    /// The same behind [`Op::IfZero`], [`Op::UnlessOne`] or [`Op::JumpUnlessOne`], whose temporary is `zero`:
    /// cells are addressed by it. If it is one of them, it is the first, and given last.
    GiveByZero { temps: Temps, zero: Temp },
    /// Ends their lives: somebody else has put the app's values back, or nobody comes here.
    Gone { temps: Temps },
    /// The register of `temp` has the app's value again, which stays where it was kept, too.
    Refill { temp: Temp },

    // Moving values.
    /// `to = from`. From a register of the app that is taken: from where it is kept.
    Move { to: Reg, from: Reg },
    /// `to = value`, sign-extended.
    Set { to: Reg, value: i32, width: Width },
    /// Exchanges two registers.
    Swap { one: Reg, other: Reg },
    /// `to = base + index + disp`
    Lea {
        to: Reg,
        base: Reg,
        index: Option<Reg>,
        disp: i32,
    },
    /// `to = base + index * 2^scale + disp`, the sum of 32 bits if `narrow`. Nothing is done if
    /// that is what is there.
    Address {
        to: Reg,
        base: Option<Reg>,
        index: Option<Reg>,
        scale: u8,
        narrow: bool,
        disp: i32,
    },
    /// Each bit of `reg` is turned over.
    Not { reg: Reg },
    /// `to = high : low`
    SetWide { to: Reg, low: u32, high: u32 },
    /// `to` = app address of a place in the image.
    LoadApp { to: Reg, off: ImageOff },
    /// `to = [base]`
    Load { to: Reg, base: Reg },
    /// `[base] = from`. May fault.
    Store { base: Reg, from: Reg },
    /// `[base]` = the low `bytes` of `from`. May fault.
    StoreBytes { base: Reg, from: Reg, bytes: u8 },
    /// `to = [rsp]; rsp += 8`, the app's stack. May fault.
    Pop { to: Reg },

    /// `to` = which word of 64 KiB the app's stack pointer points to. (If it points to no word's first byte, the
    /// rest is in the highest three bits, which go when an entry is found by the number.)
    StackWord { to: Reg },
    /// `reg` = the number of the word at this address likewise, in bytes; and without the rest.
    WordAt { reg: Reg },
    /// The same of a number.
    WordOffset { reg: Reg },
    /// Begins a transaction and aborts it: `to`, which is the app's rax, gets the status. The CPU raises
    /// here what it raises if it has no transactions.
    Transaction { to: Reg },
    /// `to` = 8 times [`ppin_abi::area::near_index`] of `from`, which is one of the first four
    /// registers.
    NearIndex { to: Reg, from: Reg },

    // Registers that stay with inserted code: see `allocate::keep`.
    /// The end of temporaries; the app's values stay where they are kept.
    Keep { temps: Temps },
    /// The app's value of a register comes back from where it was kept.
    Fill { register: Gpr, slot: SpillSlot },
    /// `to` has the value of the cell at this displacement from `gs`: its register has kept it.
    Holds { to: Temp, disp: i32 },
    /// Behind a label: the app's value of a register stays in `slot`, as where the branch comes from.
    StillKept { register: Gpr, slot: SpillSlot },
    /// The app's value of a register, which is in its place, stays in `slot` again, as it did where a
    /// branch back leads.
    KeepAgain { register: Gpr, slot: SpillSlot },
    /// Behind a label: the register has the value of the cell at `disp` yet, and branches back bring that.
    StillHolds { register: Gpr, disp: i32 },
    /// `register`, whose app value is kept, has the value of the cell again, as it did where a branch
    /// back leads.
    HoldAgain { register: Gpr, disp: i32 },
    /// The app has overwritten a register: what was kept of it is nobody's any more.
    Lost { register: Gpr },

    // The thread area.
    /// `to = cell`
    LoadCell { to: Reg, cell: Cell, width: Width },
    /// `cell = from`
    StoreCell { cell: Cell, from: Reg, width: Width },
    /// `cell = value`
    SetCell {
        cell: Cell,
        value: i32,
        width: Width,
    },
    /// `cell += amount`. Destroys the flags.
    AddCell { cell: Cell, amount: i32 },
    /// The cell of a bundle of counts `+= 1`. Destroys the flags.
    AddBundle { bundle: u16 },
    /// The same by way of a temporary; leaves the flags alone.
    AddBundleBy { bundle: u16, by: Temp },
    /// Calls an analysis routine, on the thread's own stack, with `args` in the registers of the
    /// System V ABI. It may destroy these and the flags.
    CallRoutine { routine: u16, args: Temps },
    /// Goes to `to` unless the routine that was called last has returned 0. Destroys the flags.
    IfResult { to: Label },
    /// An instruction of a lifted routine, by its place in [`super::Form::lifted`]. It cannot fault.
    Lifted { ins: u16, uses: LiftedUses },
    /// The branch `ins`, to `to` instead of its target. Over app instructions.
    IfTaken { ins: InsId, to: Label },
    /// Goes to `to` if a condition holds (the low half of its opcode).
    IfFlags { condition: u8, to: Label },
    /// Goes to `to` unless the predicate of the instruction `ins` holds, which is one of flags or
    /// of a count. Near if it is a count.
    Unless { ins: InsId, to: Label },
    /// The app overwrites all arithmetic flags before it uses one where the branch `ins` leads.
    FlagsDie { ins: InsId },
    /// The flags are still kept in a temporary, behind a label.
    FlagsKept,
    /// The additions `first .. first + len` of the form have been made.
    Counted { first: u16, len: u16 },

    // Records of buffers.
    /// Goes to `to`, over app instructions, unless the byte of `cell` is 0. Destroys the flags.
    IfByte { cell: Cell, to: Label },
    /// `to` = the byte of `cell`
    LoadByte { to: Reg, cell: Cell },
    /// `cell` = the low `bytes` of `from`
    StoreField { cell: Cell, from: Reg, bytes: u8 },
    /// `cell = value`, sign-extended if it has more bytes, cut off if it has fewer.
    SetField { cell: Cell, value: i32, bytes: u8 },
    /// `to` = sum of registers of the app.
    LeaSum { to: Reg, sum: Sum },
    /// `to` = app address that is as near as the trace.
    LeaApp { to: Reg, off: ImageOff },
    /// `to` = any app address.
    LoadAppFar { to: Reg, off: ImageOff },
    /// A routine of the VM comes back here: the app's registers are in place.
    Again { again: Again },
    /// The bridge, which comes back where its record says, with the app's values put back: ends
    /// the lives of `temps`.
    JumpAgain { temps: Temps },

    // Slots of the fragment, and app addresses, which lie in slots.
    /// `to` = contents of a slot.
    LoadSlot { to: Reg, slot: u16 },
    /// `to` = address of a slot.
    LeaSlot { to: Reg, slot: u16 },
    /// Jumps to the address in a slot.
    JumpSlot { slot: u16 },
    /// `to` = what makes 0 with the app address to which the jump is predicted to go.
    LoadPrediction { to: Reg },
    /// Jumps to where that goes on.
    JumpPredicted,
    /// Jumps to where the jump or call `ins`, which goes through a sealed cell, is known to lead; goes on behind this
    /// until that is known.
    JumpSealed { ins: InsId },
    /// `to` = address of the slot by which that goes.
    LeaSealed { to: Reg },
    /// `to` = address of the first of the slots by which the jump goes that ends the trace.
    LeaCases { to: Reg },
    /// `to` = what makes 0 with the address of the table that other slots are of by which that jump goes.
    LoadTable { to: Reg },
    /// `to` = address of the first of these.
    LoadCases { to: Reg },
    /// For the VM: which slots these are. `to` = anything.
    NameCases { to: Reg },
    /// `to` = where the thread's counters of the image are, from `gs`.
    LoadCounters { to: Reg },
    /// `to` = app address of the instruction behind `ins`.
    LoadNext { to: Reg, ins: InsId },
    /// `to` = what makes 0 with that address, from a slot that nobody else reads: who takes the code
    /// out of use changes it, so that returns do not come back.
    LoadReturn { to: Reg, ins: InsId },
    /// Pushes that address to the app's stack. May fault.
    PushNext { ins: InsId },
    /// `to = [rsp]`, the app's stack. May fault.
    LoadStack { to: Reg },
    /// `by = rsp - 8`; then rsp is where the entry of the return cache lies that goes by this address. A
    /// return follows.
    StackAway { by: Reg },
    /// `LoadStack` and `StackAway`, which faults before the return is made if a program cannot have the address.
    StackAwayChecked { target: Reg, by: Reg },
    /// The app's stack pointer comes back behind a return: `rsp = from + 16`.
    StackBack { from: Reg },
    /// Pops from the app's stack what `CallOver` has pushed, to entry `index` of those that begin at `entries`, a
    /// displacement from `gs`.
    PopEntry { index: Reg, entries: u32 },
    /// `[rsp - 8] = 0`, where the CPU's return address has been popped; `by`, too, becomes 0.
    ClearBelow { by: Reg },
    /// `to` = cache address of what follows.
    Here { to: Reg },

    // Operands of app instructions.
    /// `to` = target of the indirect branch `ins`. May fault.
    LoadTarget { to: Reg, ins: InsId },
    /// `to` = address of the memory operand of `ins`, without its segment.
    LeaOperand { to: Reg, ins: InsId },

    // Segments.
    /// `to` = base of fs.
    ReadFs { to: Reg },
    /// Base of fs = `from`. May fault.
    WriteFs { from: Reg },

    // Flags.
    /// `to`, which is rax, keeps the arithmetic flags.
    SaveFlags { to: Temp },
    /// Puts them back from there; if they are `dead`, they are only given up.
    RestoreFlags { from: Temp, dead: bool },

    // Comparing the source.
    /// Between two of these, registers and flags can be had from where they are kept at every
    /// byte: as good as the instruction's beginning.
    Comparing { on: bool },
    /// Leaves for the VM if the app's memory is not what `first ..= last` were made from. The
    /// flags are saved in `flags`; eight bytes at a time are compared by `word`.
    CompareSource {
        first: InsId,
        last: InsId,
        flags: Temp,
        word: Option<Temp>,
    },

    /// Leaves for the VM at the instruction `ins`, whose stores may meet the source, if `word`, which is rcx, is
    /// below `width`. The flags are saved.
    LeaveIfBelow { ins: InsId, word: Temp, width: i32 },

    // Control flow inside inserted code.
    /// Goes to `to` if `temp`, which is rcx, is 0. Near.
    IfZero { temp: Temp, to: Label },
    /// `by` = anything. In this instruction's constant stands a jump to `entry`. Nothing, if the last of
    /// them, or that of [`Op::Arrived`], leads there, too, and is near enough.
    HiddenJump { by: Temp, entry: Entry },
    /// Jumps to `entry` by way of the last [`Op::HiddenJump`], which leads there, unless `temp`, which is
    /// rcx, is 1. Behind this it is 0; where it jumps it is 1 less than before, too.
    JumpUnlessOne { temp: Temp, entry: Entry },
    /// Goes to `to` unless `temp`, which is rcx, is 1. Behind this it is 0; where it goes it is 1 less than
    /// before, too. Near.
    UnlessOne { temp: Temp, to: Label },
    /// Goes to `to`. Near.
    Goto { to: Label },
    /// Goes to `to`, over app instructions.
    GotoFar { to: Label },
    /// Goes back to `to`, which is placed, and where nothing is alive.
    GotoBack { to: Label },
    /// Goes to `to` by a `call` of the CPU, which pushes to the app's stack and tells the CPU
    /// where returns come to: behind this. May fault.
    CallOver { to: Label },
    /// Returns come here: the first of `temps`, which is rcx, is the app address to which the app
    /// returns, and the second, which is rdx, what `StackAway` has made. The app's values of both are at home.
    Returned { temps: Temps },
    /// Threads arrive here by indirect jumps and calls, nowhere else: the first of `temps`, which is
    /// rcx, is the app address to which the app goes, and the second, which is rax, anything. The
    /// app's values of both are at home. Before this place stands what [`Op::HiddenJump`] makes, a jump to
    /// `elsewhere`: nobody runs into it.
    Arrived { temps: Temps, elsewhere: Entry },
    /// Here the trace is entered.
    Entered,
    /// Here threads enter by calls of the CPU ([`Context::CALLED`]).
    Called,
    /// Behind what begins a callee: here the VM enters it.
    CalleeBegins,
    /// Where branches arrive; the temporaries `live` are alive then, no others.
    Label { label: Label, live: Living },

    // Leaving the trace.
    /// `to` = address of a record.
    Record { to: Temp, record: RecordId },
    /// Goes where the entry of the return cache says, as the CPU expects it: see `Returned`.
    Return,
    /// Jumps to the address in a cell, which is the translation of where the app goes.
    JumpCell { cell: Cell },
    /// Jumps to where `index` of the thread's table says ([`ppin_abi::area::Area::near`]).
    /// `target`, which is rcx, is the app address; `index` is rax. The app's values of both are at
    /// home.
    JumpNear { target: Temp, index: Temp },
    /// Jumps to where the slot says whose address is `slot`, which is rcx or rax: to where rcx, or rax and rcx, are put
    /// back before [`Op::Entered`], the app's values being at home. Or behind this.
    JumpCases { slot: Temp },
    /// The same by slot `index` of those at `slots`, which is rcx; the index is the app's, or in rax.
    JumpByIndex { slots: Temp, index: Reg },
    /// A runtime routine, which may come back behind this.
    Jump { entry: Entry },
    /// Leaves for the target of the direct branch `ins`.
    ExitTaken { ins: InsId, context: Context },
    /// The same by a `call` of the CPU, which pushes to the app's stack: see `Returned`. The app's
    /// return address has been pushed. Where it faults, the app's call has been made all the same.
    ExitCall { ins: InsId, context: Context },
    /// The same if its condition holds.
    ExitIf { ins: InsId, context: Context },
    /// Leaves for the instruction behind `ins`.
    ExitNext { ins: InsId, context: Context },

    // Restartable sequences.
    /// The branch `ins`, to the instruction `to` of the same sequence.
    Within { ins: InsId, to: InsId },
    /// Goes to the instruction `to` of the same sequence.
    GoWithin { to: InsId },
    /// The kernel has been told of the sequence: it may abort from here on.
    Announced,
    /// Goes to the stub at which the kernel lets aborted threads go on.
    Abort,
}

impl Op {
    /// Whether it leaves for the target of a direct branch.
    pub const fn is_exit(&self) -> bool {
        matches!(
            self,
            Self::ExitTaken { .. }
                | Self::ExitCall { .. }
                | Self::ExitIf { .. }
                | Self::ExitNext { .. }
        )
    }

    /// Whether it is the `call` of an app call.
    pub const fn is_paired_call(&self) -> bool {
        matches!(self, Self::CallOver { .. } | Self::ExitCall { .. })
    }
}
