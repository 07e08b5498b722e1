//! Translates app bytes to a fragment in the code cache.

use crate::fetched::{Fetched, read};
use crate::flush::flush;
use crate::{changes, predictable, sequence};
use ppin_codecache::fresh::{FragmentId, Fresh, Kind};

use ppin_abi::addr::{AppPc, CachePc, ImageBase};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_codecache::{Full, Manner};
use ppin_images::{ImageId, Region};
use ppin_jit::{Bodies, Chosen, Request};
use ppin_offline::explore::string_code;
use ppin_os::lock::Mutex;
use ppin_os::time;
use ppin_process::vm::Vm;
use ppin_relocator::{Fragment, Shape};

/// Translates `pc`. `None`: the translation has found that all
/// stores must be watched for restartable sequences. Then the caller must look `pc` up again, under
/// that assumption.
/// `arrives`: an indirect branch leads there.
pub fn compile(vm: &mut Vm, pc: AppPc, context: Context, arrives: bool) -> Option<FragmentId> {
    let started = time::ticks();
    let mut fetched = Fetched::at(vm, pc, looks_far(vm));
    let (image, base) = image_of(vm, fetched.region, pc);
    let sequences = vm.rseq().near(pc);
    let mut asked = Request {
        pc,
        image: base,
        context,
        bytes: &[],
        end: fetched.end,
        max_source: None,
        shape: Shape::STRAIGHT,
        sequences: &sequences,
        arrives: false,
        optimize: mechanisms(vm),
        sealed: vm.code().sealed_part(image),
        steady: vm.code().images().get(image).may_be_kept(),
        bodies: None,
    };
    let mut chosen = choose(vm, &mut fetched, &mut asked);
    let mut request = Request {
        bytes: fetched.bytes(),
        end: fetched.end,
        ..asked
    };
    let names_sequence = sequence::discover(vm, pc, &chosen);
    let sequences = vm.rseq().near(pc);
    let inside = sequences.iter().any(|sequence| sequence.holds(pc));
    if sequences != request.sequences {
        request.sequences = &sequences;
        chosen = ppin_jit::choose(&request);
    }
    if vm.rseq().is_watching() && !request.context.contains(Context::WATCHED) {
        return None;
    }
    request.arrives = arrives && !names_sequence && !inside;
    let mut fragment = translate(vm, &request, &chosen);
    if fragment.entry > 0 && !vm.code().has_place(image, &fragment) {
        // Without code for arrivals it may refer to nothing, and lie anywhere.
        request.arrives = false;
        fragment = translate(vm, &request, &chosen);
    }
    if let Some(same) = vm.code().same_trap(pc, &fragment) {
        return Some(same);
    }
    let kind = kind_of(&fragment, names_sequence || inside);
    let id = install_traced(vm, (image, pc), fragment, request.bytes, kind);
    let ticks = time::ticks().saturating_sub(started);
    vm.code_mut().count_compiled(ticks);
    Some(id)
}

/// The trace that is asked for, whose bytes cannot change unnoticed from now on.
fn choose(vm: &mut Vm, fetched: &mut Fetched, asked: &mut Request<'_>) -> Chosen {
    let mut chosen = fetched.choose(asked);
    if fetched.go_on(&chosen) {
        chosen = fetched.choose(asked);
    }
    if let Some(region) = fetched.region.filter(|r| r.writable) {
        // Guard only the pages that the trace is made from.
        let likely = chosen.source_len() as usize;
        let watched = ensure_watched(vm, &region, asked.pc, likely);
        let context = asked.context.with(watched);
        // Bytes that were read before the guard was set may have changed since.
        let same = fetched.again(vm, likely);
        if !same || context != asked.context {
            asked.context = context;
            chosen = fetched.choose(asked);
        }
    }
    chosen
}

/// Installs what was made from the first of `bytes`.
fn install_traced(
    vm: &mut Vm,
    (image, pc): (ImageId, AppPc),
    fragment: Fragment,
    bytes: &[u8],
    kind: Kind,
) -> FragmentId {
    let source = &bytes[..(fragment.source_len as usize).min(bytes.len())];
    let trace = &source[..source.len().min(fragment.trace_len() as usize)];
    let count = fragment.instructions;
    let id = install(vm, image, pc, fragment, source, kind);
    if string_code::is(trace) {
        vm.code_mut().mark_string_code();
    }
    let fresh = vm.code().fragment(id);
    let (at, context) = (fresh.entry().0, fresh.context().0);
    vm.log_at(
        format_args!("translated to {at:#x}, {count} instructions, context {context}:"),
        pc,
    );
    id
}

fn translate(vm: &Vm, request: &Request<'_>, chosen: &Chosen) -> Fragment {
    if vm.config().flags & flag::LOCKSTEP != 0 {
        predictable::compile(request, chosen, vm.tool())
    } else {
        let bodies = BODIES.lock();
        let request = Request {
            bodies: Some(&bodies),
            ..*request
        };
        ppin_jit::compile_chosen(&request, chosen, vm.tool())
    }
}

/// What routines of the run's tools have come to. Whoever compiles holds the lock of the VM.
static BODIES: Mutex<Bodies> = Mutex::new(Bodies::new());

/// Whether more than a trace is looked at: a tool that counts has the code looked at to which branches lead.
fn looks_far(vm: &Vm) -> bool {
    let counts = vm.tool().global_counters() > 0 || vm.tool().image_counters() > 0;
    counts && mechanisms(vm).has(Optimize::JOIN)
}

/// The mechanisms for code that is translated now: without cells left for them, counts are not
/// bundled.
#[must_use]
pub fn mechanisms(vm: &Vm) -> Optimize {
    let all = vm.config().optimize;
    if vm.code().may_bundle() {
        all
    } else {
        all.without(Optimize::BUNDLES)
    }
}

/// Makes sure that changes of the `len` bytes at `pc` are noticed; returns what a translation of
/// them must assume.
fn ensure_watched(vm: &mut Vm, region: &Region, pc: AppPc, len: usize) -> Context {
    changes::watch(vm, region, pc.0, len as u64);
    if vm.code().guards().is_volatile(pc.0) {
        vm.code().guards().assumed(pc.0, region.shared)
    } else {
        Context::CANONICAL
    }
}

/// The kind of `fragment`.
fn kind_of(fragment: &Fragment, in_sequence: bool) -> Kind {
    match (fragment.instructions, in_sequence) {
        (0, _) => Kind::Trap,
        (_, true) => Kind::Sequence,
        (_, false) => Kind::Trace,
    }
}

/// Takes a dormant translation of `pc` into use again, if memory still (or again) holds the bytes
/// it was made from. JIT compilers remove the execute permission of all their code whenever they
/// add to it, and write beside the code that is executed.
pub fn wake(vm: &mut Vm, pc: AppPc, context: Context) -> Option<CachePc> {
    let id = vm.code().dormant(pc, context)?;
    let fresh = vm.code().fragment(id);
    let (image, len) = (fresh.image(), u64::from(fresh.code().source_len));
    let region = ppin_process::app_code::region(vm, pc).filter(|r| r.image == image)?;
    let inside = pc.0 + len <= region.end && vm.rseq().near(pc).is_empty();
    if !inside || !ensure_noticed(vm, &region, pc, len, context) {
        return None;
    }
    let fresh = vm.code().fragment(id);
    let mut now = alloc::vec![0; len as usize];
    let same =
        read(pc, &mut now) == now.len() && ppin_persist::source_hash(&now) == fresh.source_hash();
    let entry = fresh.entry();
    if same {
        vm.code_mut().wake(id);
    }
    same.then_some(entry)
}

/// Makes sure that changes of the source are noticed, before it is read; `false` if a translation
/// with the assumptions of `context` cannot be used.
fn ensure_noticed(vm: &mut Vm, region: &Region, pc: AppPc, len: u64, context: Context) -> bool {
    if context.contains(Context::VOLATILE) {
        return true;
    }
    if region.writable {
        changes::watch(vm, region, pc.0, len);
    }
    !vm.code().guards().is_volatile(pc.0) && vm.code().guards().steady(pc.0, len) == len
}

/// The image of a region; code outside every region (about to fault) is given an
/// image of its own page.
fn image_of(vm: &mut Vm, region: Option<Region>, pc: AppPc) -> (ImageId, ImageBase) {
    let image = region.map_or_else(|| ppin_process::app_code::nowhere(vm, pc), |r| r.image);
    (image, vm.code().images().get(image).base)
}

/// Whether the app bytes of a volatile fragment are still those it was made from.
#[must_use]
pub fn unchanged(fresh: &Fresh) -> bool {
    let mut now = alloc::vec![0; fresh.source().len()];
    read(fresh.pc(), &mut now) == now.len() && *now == *fresh.source()
}

/// Installs `fragment` in the code cache, which is flushed first if it is full.
pub fn install(
    vm: &mut Vm,
    image: ImageId,
    pc: AppPc,
    fragment: Fragment,
    source: &[u8],
    kind: Kind,
) -> FragmentId {
    let manner = Manner {
        filtered: vm.is_filtered(),
        shuffled: vm.config().flags & flag::SHUFFLE != 0,
    };
    if vm.code().wants_flush(vm.is_filtered()) {
        flush(vm);
    }
    let room = loop {
        match vm.code_mut().make_room(image, &fragment, manner) {
            Ok(room) => break room,
            Err(Full) => flush(vm),
        }
    };
    vm.code_mut()
        .install(room, (image, pc), fragment, source, kind)
}

/// Whether `entry` is a trap stub for an instruction that cannot be translated.
#[must_use]
pub fn is_trap_stub(vm: &Vm, entry: CachePc) -> bool {
    vm.code().fragment_at(entry.0).is_some_and(Fresh::is_trap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOP, PAGES, RET, World};
    use ppin_os::mem::PAGE;

    #[test]
    fn a_trace_ends_where_memory_does() {
        let mut world = World::read_only();
        let end = PAGES * PAGE;
        world.put(end - 3, &[NOP; 3]);
        assert_eq!(world.len_at(end - 3), 3);
        let trap = world.look_up(end);
        assert!(is_trap_stub(&world.vm, trap) && world.fresh(trap).is_trap());
        let inside = world.look_up(end - 3);
        assert!(!is_trap_stub(&world.vm, inside));
    }

    #[test]
    fn counts_are_not_bundled_when_there_are_no_cells_left() {
        let mut vm = World::read_only().vm;
        vm.code_mut().provide_cells(0x1000, 1 << 20);
        assert_eq!(mechanisms(&vm), vm.config().optimize);
        vm.code_mut().provide_cells(0x1000, 9);
        let without = vm.config().optimize.without(Optimize::BUNDLES);
        assert_eq!(mechanisms(&vm), without);
    }

    #[test]
    fn a_trace_does_not_leave_executable_memory() {
        let mut world = World::read_only();
        let (start, end) = (world.start + PAGE, world.start + PAGES * PAGE);
        changes::range(&mut world.vm, start, end);
        world.put(PAGE - 2, &[NOP, NOP, NOP, RET]);
        assert_eq!(world.len_at(PAGE - 2), 2);
    }

    #[test]
    fn a_long_trace_is_read_in_two_pieces() {
        let mut world = World::read_only();
        let long = [0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8]; // mov rax, imm64
        world.put(0, &[long; 40].concat());
        world.put(400, &[RET]);
        assert_eq!(world.len_at(0), 401);
    }

    #[test]
    fn an_instruction_that_is_cut_off_is_left_out() {
        let mut world = World::read_only();
        let end = PAGES * PAGE;
        world.put(end - 4, &[NOP, 0xe9, 0, 0]);
        assert_eq!(world.len_at(end - 4), 1);
        let trap = world.look_up(end - 3);
        assert!(is_trap_stub(&world.vm, trap));
    }

    #[test]
    fn one_trap_stub_serves_an_address_in_every_context() {
        let mut world = World::read_only();
        let pc = world.pc(PAGES * PAGE);
        let first = compile(&mut world.vm, pc, Context::CANONICAL, false);
        let fragments = world.vm.code().fragments();
        let again = compile(&mut world.vm, pc, Context::CANONICAL, false);
        assert_eq!(again, first);
        assert_eq!(world.vm.code().fragments(), fragments);
    }

    #[test]
    fn the_pages_of_a_trace_are_guarded_and_no_others() {
        let mut world = World::writable();
        world.put(PAGE - 2, &[NOP, NOP, NOP, RET]);
        world.put(4 * PAGE, &[RET]);
        world.look_up(PAGE - 2);
        world.look_up(4 * PAGE);
        let start = world.start;
        let pages: alloc::vec::Vec<u64> = world.vm.code().guards().pages();
        assert_eq!(pages, [0, 1, 4].map(|n| start + n * PAGE));
    }

    #[test]
    fn what_lies_behind_a_trace_is_looked_at_where_the_app_does_not_write() {
        // test eax, eax; je beyond; test ecx, ecx; ret; beyond, on the next page: cmp eax, ecx
        let code = [
            &[0x85, 0xc0, 0x74, 0x0a, 0x85, 0xc9, RET][..],
            &[NOP; 7],
            &[0x39, 0xc8],
        ];
        for (writable, len) in [(false, 16), (true, 7)] {
            let mut world = World::counting(writable);
            world.put(PAGE - 10, &code.concat());
            let entry = world.look_up(PAGE - 10);
            let fragment = world.fresh(entry).code();
            assert_eq!((fragment.source_len, fragment.trace_len()), (len, 7));
        }
    }

    #[test]
    fn a_trace_stops_before_a_page_that_cannot_be_guarded() {
        let mut world = World::writable();
        world.put(PAGE, &[NOP, RET]);
        world.look_up(PAGE);
        // The app goes on to change it, and so it is not guarded any more.
        for n in 0..64 {
            world.put(PAGE + 1, &[RET, n]);
            world.look_up(PAGE);
        }
        assert!(world.vm.code().guards().is_volatile(world.start + PAGE));
        world.put(PAGE - 20, &[NOP; 20]);
        assert_eq!(world.len_at(PAGE - 20), 20);
        let entry = world.look_up(PAGE);
        assert!(world.fresh(entry).context().contains(Context::VOLATILE));
    }

    #[test]
    fn code_that_was_protected_anew_is_used_again_if_it_is_the_same() {
        let mut world = World::writable();
        world.put(0, &[NOP, RET]);
        world.put(64, &[NOP, RET]);
        let (one, two) = (world.look_up(0), world.look_up(64));
        let (start, end) = (world.start, world.start + PAGE);
        changes::protected(&mut world.vm, start, end, true);
        world.put(64, &[RET]);
        let compiled = world.compiled();
        assert_eq!(world.look_up(0), one);
        assert_eq!(world.compiled(), compiled, "it was woken");
        assert_ne!(world.look_up(64), two);
        assert_eq!(world.compiled(), compiled + 1);
    }

    #[test]
    fn a_full_cache_is_flushed_and_goes_on() {
        let mut world = World::read_only();
        world.vm.code_mut().lower_limit(64 << 10);
        let len = PAGES * PAGE;
        world.put(0, &alloc::vec![RET; len as usize]);
        for offset in 0..len / 4 {
            let entry = world.look_up(4 * offset);
            assert_eq!(world.fresh(entry).pc(), world.pc(4 * offset));
        }
        assert!(world.vm.code().figures().flushes > 0);
        assert!((world.vm.code().fragments() as u64) < len / 4);
    }

    #[test]
    fn stores_that_become_watched_meanwhile_send_the_caller_back() {
        let mut world = World::read_only();
        world.put(0, &[RET]);
        let pc = world.pc(0);
        world.vm.rseq_mut().begin_watching();
        assert!(compile(&mut world.vm, pc, Context::CANONICAL, false).is_none());
        let watched = compile(&mut world.vm, pc, Context::WATCHED, false);
        assert!(watched.is_some());
    }
}
