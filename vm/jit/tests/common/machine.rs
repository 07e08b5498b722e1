//! A machine that runs a piece of code twice, as it is and as the compiler
//! translates it, and says in which state each run ended.
//!
//! All code around the piece is `int3`, and so are the routines of the runtime: a
//! run ends with a signal, and its handler sees the complete state. One run at a
//! time, because signal handlers and the state they fill are the process's.
//!
//! ```text
//! app + 0x00000   code, int3 everywhere but the piece at CODE
//!     + 0x04000   data
//!     + 0x08000   stack, both compared whole: nothing may be written below rsp, but for one word by
//!                 a call (`calls.rs` in this folder)
//! near  0x00000   hot
//!     + 0x08000   cold
//!     + 0x10000   slots
//!     + 0x14000   buffers, up to 0x80000 below the thread area
//!                 thread area (gs) and counters
//! ```

mod calls;
mod cells;
mod install;
mod side;

use super::capture::{CAPTURE, Capture, LAUNCH, State, catch_signals, map};
use super::host_code::{self, HostCode};
use super::routines::Sums;
use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::area::{Entry, RETURN_WORD, RETURNS, RETURNS_LEN, Spill};
use ppin_abi::buffers;
use ppin_abi::context::Context;
use ppin_abi::counters::CELLS;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::stub;
use ppin_abi::spills::SpillSlot;
use ppin_abi::thread::BEFORE;
use ppin_api::Tool;
use ppin_jit::{BytesEnd, Request, compile};
use ppin_relocator::{ARRIVAL, Exit, Fragment, Shape, executed_at};
pub use side::Side;
use std::ptr;
use std::sync::{Mutex, MutexGuard};

/// Where the piece lies in its image.
pub const CODE: u64 = 0x800;
/// Offset of the data pages.
pub const DATA: u64 = 0x4000;
/// Offset of what the app's gs points at; from 0x100 on it is data.
const APP_GS: u64 = DATA - 0x100;
/// Offset of the stack pointer at the start.
pub const STACK: u64 = 0x9000;
const APP_LEN: usize = 0xa000;
const STATE: std::ops::Range<usize> = DATA as usize..APP_LEN;
const COLD: u64 = 0x8000;
const SLOTS: u64 = 0x10000;
const BUFFERS: u64 = 0x14000;
/// The return cache lies at a multiple of its length, as `near` does.
const AREA: u64 = {
    let least = BUFFERS + buffers::bytes(2) + (buffers::BELOW + BEFORE) as u64;
    (least + RETURNS as u64).next_multiple_of(RETURNS_LEN) - RETURNS as u64
};
/// Of each buffer, so much is looked at.
const RECORDS: usize = 0x1000;
/// From the area, as the engine would have it.
const IMAGE_COUNTERS: u64 = CELLS as u64 + 0x4000;
/// Cells of bundles, likewise.
const BUNDLES: u64 = IMAGE_COUNTERS + 8 * ppin_api::OPCODES as u64;
/// Global counters of all tools that have any.
pub const GLOBALS: u32 = 4;
const NEAR_LEN: usize = AREA as usize + 0x5d000;
const AROUND_NEAR: usize = NEAR_LEN + RETURNS_LEN as usize;
const THUNKS: usize = 0x4000;
/// Number of the thread.
pub const THREAD: u64 = 7;
const RDX: usize = 2;
const RSP: usize = 4;
const ARITHMETIC: u64 = 0x8d5;
const DIRECTION: u64 = 0x400;

/// How a run ended, as far as the app can tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// SIGTRAP also stands for arriving at code outside the piece.
    pub signal: i32,
    pub pc: u64,
    pub state: State,
    /// Address of a memory fault.
    pub fault: u64,
    /// Data and stack.
    pub memory: Vec<u8>,
}

static LOCK: Mutex<()> = Mutex::new(());

pub struct Machine {
    app: *mut u8,
    near: *mut u8,
    /// The mapping that `near` lies in, with room to align it.
    around_near: *mut u8,
    host: HostCode,
    sums: Box<Sums>,
    /// Where routines run.
    stack: Vec<u128>,
    thunks: *mut u8,
    /// Mechanisms that are on.
    pub optimize: Optimize,
    /// Which branches traces follow.
    pub shape: Shape,
    /// What the loader makes read-only.
    pub sealed: ImageRange,
    /// What the compiler is told to stand behind the piece, where it is `int3`.
    pub beyond: Vec<u8>,
    /// Data and stack after the last native run.
    left_natively: Vec<u8>,
    _one_at_a_time: MutexGuard<'static, ()>,
}

impl Machine {
    /// With the app near the cache, or in the lowest 2 GiB far from it.
    pub fn new(low: bool) -> Self {
        let guard = LOCK
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        catch_signals();
        let around_near = map(0, AROUND_NEAR);
        let near = around_near.wrapping_add(around_near.align_offset(RETURNS_LEN as usize));
        let app = if low {
            map(0x1234_0000, APP_LEN)
        } else {
            map(0, APP_LEN)
        };
        let machine = Self {
            app,
            near,
            around_near,
            host: host_code::assemble(),
            sums: Box::default(),
            stack: vec![0; 0x1000],
            thunks: map(0, THUNKS),
            optimize: Optimize::ALL,
            shape: Shape::STRAIGHT,
            sealed: ImageRange::NONE,
            beyond: Vec::new(),
            left_natively: Vec::new(),
            _one_at_a_time: guard,
        };
        machine.set_gs(machine.area());
        machine
    }

    fn set_gs(&self, base: u64) {
        // SAFETY: gs is used by nothing else in this process.
        let result = unsafe { libc::syscall(libc::SYS_arch_prctl, 0x1001, base) };
        assert_eq!(result, 0);
    }

    fn app_gs(&self) -> u64 {
        self.app() + APP_GS
    }

    pub fn app(&self) -> u64 {
        self.app as u64
    }

    fn area(&self) -> u64 {
        self.near as u64 + AREA
    }

    /// A state that looks like an app's: a stack, pointers to data, the rest as given.
    pub fn state(&self, values: [u64; 16], flags: u64) -> State {
        let mut regs = values;
        regs[RSP] = self.app() + STACK;
        State {
            regs,
            flags: flags & (ARITHMETIC | DIRECTION) | 0x202,
        }
    }

    fn app_bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped for the life of the machine, and no code runs meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.app, APP_LEN) }
    }

    fn near_bytes(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.near, NEAR_LEN) }
    }

    /// The same memory at the start of every run: each word of data is an address
    /// of app code, so that it can be jumped to.
    fn reset(&mut self, code: &[u8]) {
        let base = self.app();
        let bytes = self.app_bytes();
        bytes[..DATA as usize].fill(0xcc);
        bytes[CODE as usize..CODE as usize + code.len()].copy_from_slice(code);
        for (index, word) in bytes[STATE].chunks_exact_mut(8).enumerate() {
            let value = base + 0x1000 + 8 * (index as u64 % 0x100);
            word.copy_from_slice(&value.to_le_bytes());
        }
        // A native run starts by way of the app's gs.
        let go = APP_GS as usize + host_code::GO;
        bytes[go..go + 8].copy_from_slice(&(base + CODE).to_le_bytes());
    }

    fn run(&mut self, pc: u64, state: &State) -> Capture {
        let go = self.area() as usize - self.near as usize + host_code::GO;
        self.near_bytes()[go..go + 8].copy_from_slice(&pc.to_le_bytes());
        // SAFETY: `LOCK` is held; `enter` returns to here by way of the handler.
        unsafe {
            let launch = ptr::addr_of_mut!(LAUNCH);
            (*launch).state = *state;
            (*launch).finish = self.host.finish;
            (self.host.enter)(launch);
            *ptr::addr_of!(CAPTURE)
        }
    }

    /// Runs `code` as it is.
    pub fn native(&mut self, code: &[u8], state: &State) -> Outcome {
        self.reset(code);
        let pc = self.app() + CODE;
        self.set_gs(self.app_gs());
        let end = self.run(pc, state);
        self.set_gs(self.area());
        let outcome = self.outcome(end.pc, &end);
        self.left_natively.clone_from(&outcome.memory);
        outcome
    }

    fn outcome(&mut self, pc: u64, end: &Capture) -> Outcome {
        let mut state = end.state;
        state.flags &= ARITHMETIC | DIRECTION;
        Outcome {
            signal: end.signal,
            pc,
            state,
            fault: end.fault,
            memory: self.app_bytes()[STATE].to_vec(),
        }
    }

    /// The fragment for `code`.
    pub fn compile(&self, code: &[u8], context: Context, tool: &dyn Tool) -> Fragment {
        let bytes = [code, &self.beyond].concat();
        let request = Request {
            pc: AppPc(self.app() + CODE),
            image: ImageBase(self.app()),
            context,
            bytes: &bytes,
            end: BytesEnd::Limit,
            max_source: None,
            shape: self.shape,
            sequences: &[],
            arrives: true,
            optimize: self.optimize,
            sealed: self.sealed,
            steady: true,
            bodies: None,
        };
        compile(&request, tool)
    }

    /// Runs `fragment`, made from `code`.
    pub fn translated(
        &mut self,
        code: &[u8],
        fragment: &Fragment,
        state: &State,
    ) -> (Outcome, Side) {
        self.reset(code);
        self.install(fragment);
        let end = match fragment.entry {
            0 => self.run(self.near as u64, state),
            _ => self.arrive(self.app() + CODE, state),
        };
        self.arrival(fragment, end)
    }

    /// Runs `fragment`, the translation of `code`, from hot offset `hot` on, where the app would go on as `at`
    /// says.
    pub fn translated_from(
        &mut self,
        hot: u32,
        at: &Outcome,
        code: &[u8],
        fragment: &Fragment,
    ) -> Outcome {
        self.reset(code);
        self.install(fragment);
        self.app_bytes()[STATE].copy_from_slice(&at.memory);
        let end = self.run(self.near as u64 + u64::from(hot), &at.state);
        let (outcome, _) = self.arrival(fragment, end);
        outcome
    }

    /// Comes to what is installed as an indirect branch to `target` does.
    fn arrive(&mut self, target: u64, state: &State) -> Capture {
        const JUNK: u64 = 0x1bad_1bad_1bad_1bad;
        let mut arriving = *state;
        for (spill, value) in [(Spill::Rax, JUNK), (Spill::Rcx, target)] {
            let register = usize::from(spill.register());
            let at = AREA as usize + spill.disp() as usize;
            let kept = state.regs[register].to_le_bytes();
            self.near_bytes()[at..at + 8].copy_from_slice(&kept);
            arriving.regs[register] = value;
        }
        self.run(self.near as u64 + u64::from(ARRIVAL), &arriving)
    }

    /// Comes to `fragment` as an indirect branch to `target` does, which is another address than its
    /// own. Where it goes on, and the state there.
    pub fn arrive_elsewhere(
        &mut self,
        fragment: &Fragment,
        target: u64,
        state: &State,
    ) -> (Option<Entry>, State) {
        self.install(fragment);
        let end = self.arrive(target, state);
        let elsewhere = self.host.routines[Entry::ArrivedElsewhere as usize];
        let entry = (end.pc == elsewhere).then_some(Entry::ArrivedElsewhere);
        (entry, end.state)
    }

    /// What the runtime would make of the end of a run.
    fn arrival(&mut self, fragment: &Fragment, mut end: Capture) -> (Outcome, Side) {
        let hot = end.pc.wrapping_sub(self.near as u64);
        let fault = hot < fragment.hot.len() as u64;
        let mut exit = None;
        let pc = if fault {
            self.at_fault(fragment, hot as u32, &mut end)
        } else {
            exit = self.at_exit(fragment, &end);
            if exit.is_some_and(|exit| exit.context.contains(Context::CALLED)) {
                self.take_call(fragment, &mut end);
            }
            match exit {
                Some(exit) => exit.target.at(ImageBase(self.app())).0,
                // The target of an indirect branch is in rcx.
                None => end.state.regs[1],
            }
        };
        if !fault {
            self.refill(&mut end);
        }
        let executed = exit.map(|exit| executed_at(&fragment.pc_map, exit.branch));
        let side = self.side(fragment, executed, fault.then_some((hot as u32, pc)));
        (self.outcome(pc, &end), side)
    }

    /// Restores the registers by which the code speaks to the runtime.
    fn refill(&mut self, end: &mut Capture) {
        let at = |entry| end.pc == self.host.routines[entry as usize];
        let all: &[Spill] = if at(Entry::NotNear) || at(Entry::Mispredicted) {
            &[Spill::Rax, Spill::Rcx]
        } else if at(Entry::Unpaired) {
            end.state.regs[RSP] = end.state.regs[RDX] + u64::from(RETURN_WORD);
            &[Spill::Rcx, Spill::Rdx]
        } else {
            &[Spill::Rcx]
        };
        for spill in all {
            end.state.regs[usize::from(spill.register())] = self.spilled(spill.slot());
        }
    }

    /// Restores registers by the pc map; gives the app's pc.
    fn at_fault(&mut self, fragment: &Fragment, hot: u32, end: &mut Capture) -> u64 {
        let row = fragment.pc_map.row_at(hot).unwrap();
        for (slot, register) in row.spilled.iter() {
            end.state.regs[usize::from(register)] = self.spilled(slot);
        }
        self.app() + CODE + u64::from(row.app)
    }

    /// The exit that was taken; none for indirect branches.
    fn at_exit(&self, fragment: &Fragment, end: &Capture) -> Option<Exit> {
        let entry = self.host.routines.iter().position(|&pc| pc == end.pc);
        let entry = entry.unwrap_or_else(|| {
            panic!(
                "stray arrival at {:#x}, near {:#x}, thunks {:#x} {:x?}",
                end.pc, self.near as u64, self.thunks as u64, end.state
            )
        });
        if entry != Entry::LeaveExit as usize {
            return None;
        }
        let at = end.state.regs[1] - self.near as u64 - COLD;
        let number = stub::number(at as u32, fragment.exits.len());
        Some(fragment.exits[number.expect("stubs pass their address")])
    }

    fn area_word(&mut self, at: usize) -> u64 {
        let at = AREA as usize + at;
        u64::from_le_bytes(self.near_bytes()[at..at + 8].try_into().unwrap())
    }

    fn spilled(&mut self, slot: SpillSlot) -> u64 {
        self.area_word(slot.disp() as usize)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: they were mapped by `new`, and nothing refers to them any more.
        unsafe {
            libc::munmap(self.app.cast(), APP_LEN);
            libc::munmap(self.around_near.cast(), AROUND_NEAR);
            libc::munmap(self.thunks.cast(), THUNKS);
        }
    }
}
