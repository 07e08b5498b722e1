//! Tool counters: each thread has counters of its own, and sums are computed on demand.
//!
//! They lie behind the thread structure. First come the cells of the global counters, each of
//! which is the sum of its cells; then the image counters, one block per image, at the same
//! displacement in every thread; then the cells of bundles, which count for image counters
//! (`ppin_codecache`, `bundles.rs`). The cells of live threads are read, and never written to: what
//! they stand for is worked out anew whenever it is asked for. An image counter is the sum over all
//! threads.

use crate::ended::Ended;
use crate::thread::Thread;
use crate::vm::Vm;
use alloc::vec::Vec;
use ppin_abi::counters::{BUNDLES, CELLS, Cells};
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_codecache::CodeCache;
use ppin_images::ImageId;

/// Number of images whose counters have room reserved in each thread.
pub const MAX_IMAGES: u64 = 512;

/// Bytes of counters that each thread needs.
#[must_use]
pub fn reserve(tool: &dyn Tool, optimize: Optimize) -> u64 {
    bundles(tool, optimize) + 8 * u64::from(bundle_count(tool, optimize)) - u64::from(CELLS)
}

/// Displacement of the cells of bundles.
fn bundles(tool: &dyn Tool, optimize: Optimize) -> u64 {
    let cells = Cells::new(tool.global_counters(), optimize);
    let of_images = 8 * u64::from(tool.image_counters()) * MAX_IMAGES;
    u64::from(CELLS) + cells.bytes() + of_images
}

/// Number of cells of bundles.
fn bundle_count(tool: &dyn Tool, optimize: Optimize) -> u32 {
    let some = tool.image_counters() > 0 && optimize.has(Optimize::BUNDLES);
    if some { BUNDLES } else { 0 }
}

/// Lets code have the cells of bundles.
pub(crate) fn provide(code: &mut CodeCache, tool: &dyn Tool, optimize: Optimize) {
    code.provide_cells(bundles(tool, optimize), bundle_count(tool, optimize));
}

/// Works out what the bundles of all live threads stand for by now.
pub fn settle(vm: &mut Vm) {
    let first = block(vm, ImageId(0));
    let mut settled: Vec<u64> = Vec::new();
    for thread in vm.threads().all() {
        let held = |disp| thread.counter(disp);
        vm.code().fold(held, |disp, count| {
            let n = (disp - first) as usize / 8;
            if settled.len() <= n {
                settled.resize(n + 1, 0);
            }
            settled[n] = settled[n].wrapping_add(count);
        });
    }
    vm.ended_mut().settle(first, settled);
}

/// The cells of the global counters in each thread.
#[must_use]
pub fn cells(vm: &Vm) -> Cells {
    Cells::new(vm.tool().global_counters(), vm.config().optimize)
}

/// Displacement of the counters of image `id`. Images beyond [`MAX_IMAGES`] share
/// the last block.
#[must_use]
pub fn block(vm: &Vm, id: ImageId) -> u64 {
    let n = u64::from(id.0).min(MAX_IMAGES - 1);
    u64::from(CELLS) + cells(vm).bytes() + 8 * u64::from(vm.tool().image_counters()) * n
}

/// Global counter `index` of `thread`; 0 if there is none.
#[must_use]
pub fn global(thread: &Thread, cells: Cells, index: u32) -> u64 {
    let values = cells.of(index).map(|disp| thread.counter(u64::from(disp)));
    values.fold(0, u64::wrapping_add)
}

/// All global counters of `thread`.
#[must_use]
pub fn globals(thread: &Thread, cells: Cells) -> Vec<u64> {
    let all = 0..cells.counters();
    all.map(|index| global(thread, cells, index)).collect()
}

/// Displacements of all image counters in use. (There may be more images than blocks.)
fn of_images(vm: &Vm) -> impl Iterator<Item = u64> + use<> {
    let blocks = (vm.code().images().len() as u64).min(MAX_IMAGES);
    let (first, count) = (block(vm, ImageId(0)), u64::from(vm.tool().image_counters()));
    (0..blocks * count).map(move |n| first + 8 * n)
}

/// Stores the counters of `thread`, which is about to end, and merges its states.
pub fn retire(vm: &mut Vm, thread: &Thread) {
    let (code, ended) = vm.code_and_ended();
    let held = |disp| thread.counter(disp);
    code.fold(held, |disp, count| ended.add_to_image(disp, count));
    let counts = globals(thread, cells(vm));
    let of_images = of_images(vm);
    vm.end_states(thread);
    let ended = vm.ended_mut();
    ended.add_thread((thread.index, thread.tid, counts));
    for disp in of_images {
        ended.add_to_image(disp, thread.counter(disp));
    }
    if vm.is_reporting() {
        // It was counted among the live threads, and has left their list.
        settle(vm);
    }
}

/// Image counter `index` of image `id`, over all threads. Counts of images that share a block are
/// all given for the first of them. (While the process writes its report, bundles are not
/// worked out for each counter, but once.)
#[must_use]
pub fn image_total(vm: &mut Vm, id: ImageId, index: u32) -> u64 {
    if !vm.is_reporting() {
        settle(vm);
    }
    if u64::from(id.0) >= MAX_IMAGES {
        return 0;
    }
    let disp = block(vm, id) + 8 * u64::from(index);
    // SAFETY: the list holds live threads, and the VM lock is held.
    let live = vm.threads().all().map(|t| t.counter(disp));
    live.fold(vm.ended().of_image(disp), u64::wrapping_add)
}

/// Sets all counters to zero, and begins the states anew, in a forked child.
pub fn reset(vm: &mut Vm, thread: &mut Thread) {
    vm.begin_states_anew(thread);
    *vm.ended_mut() = Ended::default();
    let cells = cells(vm);
    for index in 0..cells.counters() {
        cells.of(index).for_each(|disp| clear(thread, disp.into()));
    }
    of_images(vm).for_each(|disp| clear(thread, disp));
    let bundles = vm.code().cells().step_by(8);
    bundles.for_each(|disp| clear(thread, disp));
}

/// Sets the counter at `disp` to zero. One that is zero is not written: its page may be shared.
fn clear(thread: &mut Thread, disp: u64) {
    let cell = (thread.area.self_ptr + disp) as *mut u64;
    // SAFETY: inside this thread's counter reservation.
    unsafe {
        if cell.read() != 0 {
            cell.write(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app_code;
    use crate::testing;
    use crate::translate::correct;
    use alloc::vec;
    use ppin_abi::addr::AppPc;
    use ppin_codecache::Manner;
    use ppin_codecache::fresh::Kind;
    use ppin_relocator::{CountRow, Fragment, SlotInit};

    /// Adds `amount` to two cells of counter `index`.
    fn count(thread: &mut Thread, cells: Cells, index: u32, amount: i64) {
        let [first, last] = [0, cells.colours() - 1].map(|c| u64::from(cells.disp(index, c)));
        correct(
            thread,
            &[(first, amount), (last, amount)].into_iter().collect(),
        );
    }

    #[test]
    fn a_counter_is_the_sum_of_its_cells() {
        let mut vm = testing::vm();
        let (thread, cells) = (testing::thread(1), cells(&vm));
        assert!(cells.colours() > 1);
        count(thread, cells, 0, 3);
        count(thread, cells, 1, 5);
        assert_eq!(globals(thread, cells), [6, 10]);
        assert_eq!(global(thread, cells, 2), 0, "there are two");
        retire(&mut vm, thread);
        assert_eq!(
            [vm.ended().global(1, 0), vm.ended().global(1, 1)],
            [Some(6), Some(10)]
        );
        assert_eq!(vm.ended().global(1, 2), None);
    }

    #[test]
    fn a_forked_child_counts_from_zero() {
        let mut vm = testing::vm();
        let (thread, cells) = (testing::thread(1), cells(&vm));
        count(thread, cells, 1, 5);
        retire(&mut vm, testing::thread(2));
        reset(&mut vm, thread);
        assert_eq!(globals(thread, cells), [0, 0]);
        assert!(vm.ended().threads().is_empty());
    }

    #[test]
    fn images_have_counters_behind_the_cells() {
        let mut vm = testing::vm();
        let thread = testing::thread(1);
        let [first, second] = [0, 1].map(|id| block(&vm, ImageId(id)));
        assert_eq!(first, u64::from(CELLS) + cells(&vm).bytes());
        assert_eq!(second, first + 8 * u64::from(vm.tool().image_counters()));
        // Code of no image has counters, too.
        let id = app_code::nowhere(&mut vm, AppPc(0x1000));
        assert_eq!(vm.code().images().get(id).counters, block(&vm, id));
        correct(thread, &[(first + 8, 5)].into_iter().collect());
        retire(&mut vm, thread);
        assert_eq!([0, 1].map(|index| image_total(&mut vm, id, index)), [0, 5]);
        reset(&mut vm, thread);
        assert_eq!(image_total(&mut vm, id, 1) + thread.counter(first + 8), 0);
        assert_ne!(thread.area.self_ptr, 0, "nothing else is reset");
    }

    /// Gives `vm` a fragment, in code of no image, that counts 4 in the image's counter 1 whenever it
    /// is entered; the image, and the fragment's cell.
    fn counting(vm: &mut Vm) -> (ImageId, u64) {
        let id = app_code::nowhere(vm, AppPc(0x1000));
        let cell = vm.code().cells().end;
        let fragment = Fragment {
            source_len: 1,
            hot: vec![0x90; 8],
            slots: vec![SlotInit::Bundles(1)],
            counts: vec![CountRow {
                done: 8,
                counter: 8,
                image: true,
                app: 0,
                amount: 4,
            }],
            ..Fragment::default()
        };
        let code = vm.code_mut();
        let room = code.make_room(id, &fragment, Manner::default());
        code.install(
            room.expect("room"),
            (id, AppPc(0x1000)),
            fragment,
            &[0x90],
            Kind::Trace,
        );
        (id, cell)
    }

    #[test]
    fn bundles_are_counted_once_while_threads_run_and_when_they_end() {
        let first = testing::thread(0);
        let mut vm = testing::vm_of(testing::config(), first);
        let (id, cell) = counting(&mut vm);
        assert_eq!(cell, bundles(vm.tool(), Optimize::ALL));
        let enter =
            |thread: &mut Thread, count| correct(thread, &[(cell, count)].into_iter().collect());
        enter(first, 10);
        assert_eq!([0, 1, 2].map(|n| image_total(&mut vm, id, n)), [0, 40, 0]);
        enter(first, 1);
        assert_eq!(image_total(&mut vm, id, 1), 44, "only what came to it");
        let second = testing::thread(1);
        enter(second, 5);
        retire(&mut vm, second);
        assert_eq!(image_total(&mut vm, id, 1), 64);
        // One was entered, but left before it was to count.
        enter(first, 1);
        correct(first, &[(block(&vm, id) + 8, -4)].into_iter().collect());
        assert_eq!(image_total(&mut vm, id, 1), 64);
        reset(&mut vm, first);
        assert_eq!(image_total(&mut vm, id, 1), 0, "a child begins anew");
        enter(first, 1);
        vm.begin_report();
        settle(&mut vm);
        assert_eq!(image_total(&mut vm, id, 1), 4);
    }

    #[test]
    fn there_are_bundles_where_there_are_image_counters_and_the_mechanism_is_on() {
        let without = Optimize::ALL.without(Optimize::BUNDLES);
        let tool = &testing::NoTool;
        assert_eq!(
            [Optimize::ALL, without].map(|o| bundle_count(tool, o)),
            [BUNDLES, 0]
        );
        let more = reserve(tool, Optimize::ALL) - reserve(tool, without);
        assert_eq!(more, 8 * u64::from(BUNDLES));
    }

    #[test]
    fn images_without_a_block_of_their_own_share_the_last() {
        let mut vm = testing::vm();
        let thread = testing::thread(1);
        let count = MAX_IMAGES + 2;
        let pages = (1..=count).map(|n| AppPc(n << 12));
        let ids: Vec<ImageId> = pages.map(|pc| app_code::nowhere(&mut vm, pc)).collect();
        let [last, beyond] = [3, 1].map(|n| ids[ids.len() - n]);
        assert_eq!(block(&vm, last), block(&vm, beyond));
        correct(thread, &[(block(&vm, beyond), 7)].into_iter().collect());
        retire(&mut vm, thread);
        let totals = ids.iter().map(|id| image_total(&mut vm, *id, 0));
        assert_eq!(totals.sum::<u64>(), 7);
    }
}
