//! Calls analysis routines with the arguments that a `CallRec` describes, computed from the app's
//! registers.

use crate::buffers;
use crate::host::EngineHost;
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::record::{
    ArgKind, BUFFER_APPEND, BUFFER_FULL, CallArg, CallRec, MAX_ARGS, NO_REG, X87_POINTER,
};
use ppin_api::{AnyFunction, Call, RoutineId, Tool};
use ppin_os::segment;
use ppin_process::thread::{Thread, reg};
use ppin_process::vm;

/// What tells the numbers of the engine's own routines for buffers from each other.
const BUFFER_BITS: u16 = !0xf;

/// Where the bridge calls this module.
#[must_use]
pub fn address() -> u64 {
    bridge_entry as *const () as usize as u64
}

/// Called by the bridge on the VM stack; returns the cache address to go on at.
unsafe extern "C" fn bridge_entry(thread: *mut Thread) -> u64 {
    // SAFETY: the bridge passes the running thread's structure.
    let thread = unsafe { &mut *thread };
    // (It lay on the stack that is in use now.)
    thread.signals.returning.forget();
    let record = thread.operand;
    // SAFETY: emitted code passes the address of its own record, followed by its
    // arguments.
    let rec = unsafe { (record as *const CallRec).read() };
    let (base, tool) = {
        let vm = vm::lock();
        (vm.code().base_at(record), vm.tool())
    };
    let first = record + size_of::<CallRec>() as u64;
    // SAFETY: the arguments follow the record, and their memory is not changed while it is in use.
    let args = unsafe { core::slice::from_raw_parts(first as *const CallArg, rec.args.into()) };
    let at = |kind: ArgKind| args.iter().position(|arg| arg.kind == kind as u8);
    let (then, into) = (at(ArgKind::Then), at(ArgKind::Into));
    let first = &args[..then.or(into).unwrap_or(args.len())];
    let result = call(thread, (base, tool), rec.routine, first);
    if let Some(into) = into {
        match thread.regs.gpr.get_mut(usize::from(args[into].base)) {
            Some(register) => *register = result,
            None => thread.area.calls.result = result,
        }
    }
    if let Some(then) = then.filter(|_| result != 0) {
        let routine = args[then].value[0] as u16;
        call(thread, (base, tool), routine, &args[then + 1..]);
    }
    record.wrapping_add(i64::from(rec.resume) as u64)
}

/// Makes one call; its result, 0 if it has none.
fn call(
    thread: &mut Thread,
    (base, tool): (ImageBase, &dyn Tool),
    number: u16,
    given: &[CallArg],
) -> u64 {
    let mut args = [0; MAX_ARGS];
    for (value, arg) in args.iter_mut().zip(given) {
        *value = argument(thread, base, arg);
    }
    let buffer = number & !BUFFER_BITS;
    if number == X87_POINTER {
        ppin_process::x87::correct(args[0].wrapping_add(args[1]), args[2]);
    } else if number & BUFFER_BITS == BUFFER_FULL {
        buffers::full(thread, buffer);
    } else if number & BUFFER_BITS == BUFFER_APPEND {
        buffers::append_record(thread, buffer, &args[..given.len()]);
    } else if let Some(routine) = tool.routines().get(usize::from(number)) {
        match routine.function {
            AnyFunction::Plain(function) => {
                // SAFETY: a routine of the tool, with arguments that fit.
                let register = unsafe { call_plain(function.address(), args) };
                return function.outcome().of(register);
            }
            AnyFunction::WithHost(_) => {
                let call = Call {
                    tool,
                    host: &EngineHost,
                    args,
                };
                tool.analyse(RoutineId(number), &call);
            }
        }
    }
    0
}

/// Calls a plain routine; what it leaves in the register of results. It takes no more arguments than
/// there are, and the rest do no harm.
///
/// # Safety
/// A routine is at `address`, and the insertion of the call was granted.
unsafe fn call_plain(address: usize, args: [u64; MAX_ARGS]) -> u64 {
    type Widest = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;
    // SAFETY: the caller's promise. Integers, and pointers to states, are passed in the registers
    // of these arguments (System V ABI).
    unsafe {
        let routine = core::mem::transmute::<usize, Widest>(address);
        let [a, b, c, d, e, f] = args;
        routine(a, b, c, d, e, f)
    }
}

fn argument(thread: &Thread, base: ImageBase, arg: &CallArg) -> u64 {
    let constant = u64::from(arg.value[0]) | u64::from(arg.value[1]) << 32;
    let address = |off: u32| ImageOff(off as i32).at(base).0;
    match arg.kind {
        k if k == ArgKind::AppAddr as u8 || k == ArgKind::ImageAddr as u8 => address(arg.value[0]),
        k if k == ArgKind::Reg as u8 => register(thread, arg.base),
        k if k == ArgKind::EffectiveAddr as u8 => effective(thread, arg, constant),
        k if k == ArgKind::ThreadId as u8 => u64::from(thread.index),
        k if k == ArgKind::State as u8 => thread.area.calls.states[arg.value[0] as usize],
        _ => constant,
    }
}

fn register(thread: &Thread, number: u8) -> u64 {
    if number == NO_REG {
        0
    } else {
        thread.get(usize::from(number))
    }
}

/// Segment + base + index * scale + displacement (SDM volume 1, 3.7.5).
fn effective(thread: &Thread, arg: &CallArg, disp: u64) -> u64 {
    const FS: u8 = 1 << 4;
    const GS: u8 = 1 << 5;
    const ADDR32: u8 = 1 << 6;
    let scaled = register(thread, arg.index) << (arg.scale_seg & 0xf);
    let mut sum = register(thread, arg.base)
        .wrapping_add(scaled)
        .wrapping_add(disp);
    if arg.scale_seg & ADDR32 != 0 {
        sum &= 0xffff_ffff;
    }
    if arg.scale_seg & FS != 0 {
        sum = sum.wrapping_add(segment::fs_base());
    }
    if arg.scale_seg & GS != 0 {
        sum = sum.wrapping_add(thread.area.app_gs_base);
    }
    sum
}

const _: () = assert!(reg::RSP == 4);
