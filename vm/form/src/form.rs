//! The form of a trace, and writing it.

use crate::{Again, CaseJump, Few, InsId, Label, Living, Need, Op, RecordId, RegSet, Temp, Temps};
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::AppPc;
use ppin_abi::area::Entry;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::{CallArg, Trap};
use ppin_lift::body::Lifted;
use ppin_relocator::CountRow;

/// Bytes that are compared at a time where the source is compared, if there are as many.
pub const COMPARED_AT_ONCE: usize = 8;

/// Slots by which code in a restartable sequence knows descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceSlots {
    /// First of the slots that make up the descriptor of this code.
    pub descriptor: u16,
    /// What makes 0 with the address of the app's descriptor.
    pub expected: u16,
    /// From here on the kernel may abort.
    pub protected: bool,
}

/// What a record tells the VM.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "what a variant says names its fields")]
pub enum Record {
    /// The VM must raise a fault or explain itself.
    Trap {
        pc: AppPc,
        trap: Trap,
        context: Context,
    },
    /// A system call. It comes back behind the jump that follows.
    Syscall { ins: InsId },
    /// The call of a routine, with these of the form's arguments. Comes back likewise.
    Call {
        ins: InsId,
        routine: u16,
        args: Range<u32>,
    },
    /// A buffer is full. Comes back at `again`.
    Full {
        ins: InsId,
        buffer: u16,
        again: Again,
    },
}

/// The form of a trace, or of a part of one.
pub struct Form {
    /// The operations, in order.
    pub ops: Vec<Op>,
    /// What comes behind all of them, and behind that.
    tails: [Vec<Op>; 2],
    /// In how many of these operations go at present.
    aside: usize,
    /// What each temporary needs.
    pub needs: Few<Need>,
    /// What the form tells the VM, by [`RecordId`].
    pub records: Vec<Record>,
    /// Arguments of calls.
    pub args: Vec<CallArg>,
    /// Instructions of lifted routines.
    pub lifted: Vec<Lifted>,
    /// What additions pay for; where they are made is not known yet.
    pub counts: Vec<CountRow>,
    /// Bundles of counts so far, those of parts that are forgotten included.
    bundles: u16,
    labels: u16,
    agains: u16,
    /// What the fragment assumes on entry.
    pub context: Context,
    /// Mechanisms that are on.
    pub optimize: Optimize,
    /// The restartable sequence that the code belongs to.
    pub sequence: Option<SequenceSlots>,
    /// A tool has inserted something.
    pub instrumented: bool,
    /// Nothing is inserted, and code is not compared: between what rules write, the app's instructions stand
    /// as they are.
    pub undisturbed: bool,
    /// The jump that ends the trace goes through a cell that the loader seals.
    pub leaves_sealed: bool,
    /// It is all of the trace, and has been made already, before what the CPU has pushed is taken away
    /// ([`Context::CALLED`]): where the cell leads, that is done.
    pub passes_on: bool,
    /// The jump that ends the trace goes by a table that does not change.
    pub cases: Option<CaseJump>,
    /// Registers that stay until an instruction overwrites them.
    staying: RegSet,
    /// Which one that is, by register.
    overwritten: [InsId; 16],
}

impl Form {
    /// An empty form, for some `instructions`.
    pub fn new(context: Context, optimize: Optimize, instructions: usize) -> Self {
        Self {
            ops: Vec::with_capacity(3 * instructions + 24),
            tails: [Vec::new(), Vec::new()],
            aside: 0,
            needs: Few::new(Need::one_of(RegSet::NONE)),
            records: Vec::new(),
            args: Vec::new(),
            lifted: Vec::new(),
            counts: Vec::new(),
            bundles: 0,
            labels: 0,
            agains: 0,
            context,
            optimize,
            sequence: None,
            instrumented: false,
            undisturbed: false,
            leaves_sealed: false,
            passes_on: false,
            cases: None,
            staying: RegSet::NONE,
            overwritten: [InsId(0); 16],
        }
    }

    /// Number of a new bundle of counts, if they are bundled.
    pub fn bundle(&mut self) -> Option<u16> {
        let number = self.bundles;
        let bundled = self.optimize.has(Optimize::BUNDLES);
        self.bundles += u16::from(bundled);
        bundled.then_some(number)
    }

    /// Forgets all operations.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.tails.iter_mut().for_each(Vec::clear);
        self.needs.clear();
        self.records.clear();
        self.args.clear();
        self.lifted.clear();
        self.counts.clear();
        self.staying = RegSet::NONE;
        self.labels = 0;
        self.agains = 0;
    }

    /// One more operation.
    #[inline]
    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// The instruction as it is.
    #[inline]
    pub fn copy(&mut self, ins: InsId) {
        match self.ops.last_mut() {
            Some(last) if matches!(last, Op::Begin { .. }) => {
                let block = matches!(last, Op::Begin { block: true, .. });
                *last = Op::Plain { ins, block };
            }
            _ => self.push(Op::App { ins }),
        }
    }

    /// New temporaries, alive from here on.
    #[inline]
    pub fn take<const N: usize>(&mut self, needs: [Need; N]) -> [Temp; N] {
        let temps = self.add(needs);
        self.push(Op::Take {
            temps: Temps::of(&temps),
        });
        temps
    }

    /// As [`Form::take`], as many as there are `needs`.
    pub fn take_all(&mut self, needs: &[Need]) -> Temps {
        let temps = Temps {
            first: self.needs.len() as u16,
            len: needs.len() as u16,
        };
        for need in needs {
            self.needs.push(*need);
        }
        self.push(Op::Take { temps });
        temps
    }

    /// The end of temporaries that were taken by [`Form::take_all`].
    pub fn give_all(&mut self, temps: Temps) {
        self.push(Op::Give { temps });
    }

    /// New temporaries with which returns arrive (see [`Op::Returned`]).
    pub fn returned(&mut self, needs: [Need; 2]) -> [Temp; 2] {
        let temps = self.add(needs);
        self.push(Op::Returned {
            temps: Temps::of(&temps),
        });
        temps
    }

    /// New temporaries with which indirect jumps and calls arrive; those that belong elsewhere go to
    /// `elsewhere` (see [`Op::Arrived`]).
    pub fn arrived(&mut self, needs: [Need; 2], elsewhere: Entry) -> [Temp; 2] {
        let temps = self.add(needs);
        self.push(Op::Arrived {
            temps: Temps::of(&temps),
            elsewhere,
        });
        temps
    }

    fn add<const N: usize>(&mut self, needs: [Need; N]) -> [Temp; N] {
        let first = self.needs.len() as u16;
        for need in needs {
            self.needs.push(need);
        }
        core::array::from_fn(|n| Temp(first + n as u16))
    }

    /// The end of `temps`, which were taken together.
    #[inline]
    pub fn give(&mut self, temps: &[Temp]) {
        self.push(Op::Give {
            temps: Temps::of(temps),
        });
    }

    /// The end of their lives where `zero`, perhaps the first of them, is 0, since [`Op::IfZero`] or the like
    /// has led here.
    pub fn give_by(&mut self, zero: Temp, temps: &[Temp]) {
        self.push(Op::GiveByZero {
            temps: Temps::of(temps),
            zero,
        });
    }

    /// Their end: the runtime has put the app's values back, or nobody comes here.
    #[inline]
    pub fn gone(&mut self, temps: &[Temp]) {
        self.push(Op::Gone {
            temps: Temps::of(temps),
        });
    }

    /// The end of `temp`, which is one certain register. The app's value stays in its slot: nobody looks at the
    /// register before `until` overwrites it or, if that is not given, before a branch takes it again.
    pub fn stay(&mut self, temp: Temp, until: Option<InsId>) {
        self.push(Op::Keep {
            temps: Temps::of(&[temp]),
        });
        let register = self.needs.at(temp.0).one_of.iter().next();
        if let (Some(register), Some(until)) = (register, until) {
            self.staying = self.staying.with(register);
            self.overwritten[usize::from(register.number())] = until;
        }
    }

    /// Behind the instruction `ins`: what it has overwritten stays no more.
    #[inline]
    pub fn settle(&mut self, ins: InsId) {
        if self.staying == RegSet::NONE {
            return;
        }
        for register in self.staying.iter() {
            if self.overwritten[usize::from(register.number())] == ins {
                self.staying = self.staying.minus(RegSet::of(&[register]));
                self.push(Op::Lost { register });
            }
        }
    }

    /// Jumps to a runtime routine.
    #[inline]
    pub fn jump(&mut self, entry: Entry) {
        self.push(Op::Jump { entry });
    }

    /// A label, to be placed later.
    #[inline]
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// The first of so many labels, to be placed later.
    pub fn reserve_labels(&mut self, count: usize) -> Label {
        self.labels += count as u16;
        Label(self.labels - count as u16)
    }

    /// A place to come back to, here.
    pub fn again(&mut self) -> Again {
        let again = Again(self.agains);
        self.agains += 1;
        self.push(Op::Again { again });
        again
    }

    /// Places `label`, where `live` are alive.
    #[inline]
    pub fn place(&mut self, label: Label, live: &[Temp]) {
        self.push(Op::Label {
            label,
            live: Living::of(live),
        });
    }

    /// Places `label`, where `live` are alive, which were taken by [`Form::take_all`].
    pub fn place_with(&mut self, label: Label, live: Temps) {
        let live = Living::of_run(live);
        self.push(Op::Label { label, live });
    }

    /// `to` = address of a new record.
    pub fn record(&mut self, to: Temp, record: Record) {
        self.records.push(record);
        let record = RecordId(self.records.len() as u16 - 1);
        self.push(Op::Record { to, record });
    }

    /// Whether indirect jumps and calls look up their target in line. Not in restartable sequences,
    /// as [`Form::pairs_returns`].
    #[inline]
    pub fn looks_up_in_line(&self) -> bool {
        let on = self.optimize.has(Optimize::INDIRECT) && self.context.is_ordinary();
        on && self.sequence.is_none()
    }

    /// Whether calls and returns are paired.
    #[inline]
    pub fn pairs_returns(&self) -> bool {
        pairs_returns(self.context, self.optimize) && self.sequence.is_none()
    }

    /// Whether registers stay with inserted code.
    #[inline]
    pub fn keeps_registers(&self) -> bool {
        self.instrumented && self.may_keep_registers()
    }

    /// Whether registers may stay with code that is not the app's.
    #[inline]
    pub fn may_keep_registers(&self) -> bool {
        let on = self.optimize.has(Optimize::REGISTERS) && self.context.is_ordinary();
        on && self.sequence.is_none()
    }

    /// Whether direct calls are calls of the CPU to the code that they lead to.
    #[inline]
    pub fn calls_callees(&self) -> bool {
        let on = self.optimize.has(Optimize::CALLEES) && self.context.is_ordinary();
        on && self.pairs_returns()
    }

    /// What `write` adds for `ins` comes behind all the rest, where only branches get. It may put aside more.
    pub fn aside(&mut self, ins: InsId, write: impl FnOnce(&mut Self)) {
        /// Operations of a call, and more.
        const MOST: usize = 24;
        let depth = self.aside;
        core::mem::swap(&mut self.ops, &mut self.tails[depth]);
        self.aside += 1;
        self.ops.reserve(MOST);
        self.push(Op::Inside { ins });
        write(self);
        self.aside = depth;
        core::mem::swap(&mut self.ops, &mut self.tails[depth]);
    }

    /// Ends the form: behind it stands what was put aside.
    pub fn append_tail(&mut self) {
        for tail in &mut self.tails {
            self.ops.append(tail);
        }
    }

    /// The same where more code follows, which goes around it.
    pub fn append_tail_here(&mut self) {
        if !self.tails[0].is_empty() {
            let over = self.label();
            self.push(Op::GotoFar { to: over });
            self.append_tail();
            self.place(over, &[]);
        }
    }

    /// What an exit behind a control transfer may assume.
    #[inline]
    pub fn exit_context(&self) -> Context {
        volatile_part(self.context)
    }
}

/// What the instruction `app` bytes behind the head of a fragment with `context` may assume.
#[inline]
pub fn ins_context(context: Context, app: u32) -> Context {
    if app == 0 {
        context.without(Context::CALLED)
    } else {
        volatile_part(context)
    }
}

fn volatile_part(context: Context) -> Context {
    if context.contains(Context::VOLATILE) {
        Context::VOLATILE
    } else {
        Context::CANONICAL
    }
}

/// Whether calls and returns are paired in code made under `context`.
#[inline]
pub fn pairs_returns(context: Context, optimize: Optimize) -> bool {
    // Where a return comes to, only its address is compared; behind that, code that may change compares itself.
    let compares = context.contains(Context::COMPARED) && !context.contains(Context::WATCHED);
    optimize.has(Optimize::RETURNS) && (context.is_ordinary() || compares)
}
