//! Tool counters: each thread has counters of its own, and sums are computed on demand.
//!
//! Global counters lie in the thread area, image counters behind the thread
//! structure: one block per image, at the same displacement in every thread.

use crate::ended::Ended;
use crate::thread::Thread;
use crate::vm::Vm;
use alloc::vec::Vec;
use ppin_abi::area::{GLOBAL_COUNTERS, counter_disp};
use ppin_codecache::image::{Image, ImageId};

/// Number of images whose counters have room reserved in each thread.
pub const MAX_IMAGES: u64 = 512;

/// Bytes of image counters that each thread needs.
#[must_use]
pub fn reserve(per_image: u32) -> u64 {
    8 * u64::from(per_image) * MAX_IMAGES
}

/// Displacement of the counters of image `id`. Images beyond [`MAX_IMAGES`] share
/// the last block.
#[must_use]
pub fn block(id: ImageId, per_image: u32) -> u64 {
    let n = u64::from(id.0).min(MAX_IMAGES - 1);
    Thread::counters_disp() + 8 * u64::from(per_image) * n
}

/// Global counters of `thread`.
#[must_use]
pub fn globals(thread: &Thread) -> Vec<u64> {
    (0..GLOBAL_COUNTERS as u32)
        .map(|i| thread.counter(u64::from(counter_disp(i))))
        .collect()
}

/// Stores the counters of `thread`, which is about to end.
pub fn retire(vm: &mut Vm, thread: &Thread) {
    let counts = globals(thread);
    let per_image = vm.tool().image_counters();
    let (ended, images) = vm.ended_and_images();
    ended.add_thread((thread.index, thread.tid, counts));
    for (_, image) in images.iter() {
        for i in 0..u64::from(per_image) {
            let disp = image.counters + 8 * i;
            ended.add_to_image(disp, thread.counter(disp));
        }
    }
}

/// Image counter `index`, over all threads.
#[must_use]
pub fn image_total(vm: &Vm, image: &Image, index: u32) -> u64 {
    let disp = image.counters + 8 * u64::from(index);
    // SAFETY: the list holds live threads, and the VM lock is held.
    let live: u64 = vm.threads().all().map(|t| t.counter(disp)).sum();
    live + vm.ended().of_image(disp)
}

/// Sets all counters to zero, in a forked child.
pub fn reset(vm: &mut Vm, thread: &mut Thread) {
    *vm.ended_mut() = Ended::default();
    thread.area.counters = [0; GLOBAL_COUNTERS];
    let per_image = u64::from(vm.tool().image_counters());
    for (_, image) in vm.code().images().iter() {
        for i in 0..per_image {
            let cell = (thread.area.self_ptr + image.counters + 8 * i) as *mut u64;
            // SAFETY: inside this thread's counter reservation.
            unsafe {
                if cell.read() != 0 {
                    cell.write(0);
                }
            }
        }
    }
}
