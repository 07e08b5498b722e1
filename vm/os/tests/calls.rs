//! What filters make of calls, locks between threads, and clocks.

use ppin_os::lock::{Mutex, Word, begin_company};
use ppin_os::{c, filter, proc, stock, time};
use ppin_seccomp::{Confinement, Rule};
use std::thread;

#[test]
fn what_a_filter_forbids_is_told_by_value() {
    let free = Confinement::default();
    let strict = free.with(Rule::Strict);
    let may = |it: &Confinement, nr| filter::may(it, nr, &[0; 6]);
    assert!(may(&free, c::__NR_mmap) && may(&strict, c::__NR_read));
    assert!(!may(&strict, c::__NR_mmap));
    assert!(
        !may(&free.and(&strict), c::__NR_mmap),
        "what either forbids"
    );
    assert!(
        !may(&free.with(Rule::Unknown), c::__NR_read),
        "it may say anything"
    );
    assert!(stock::is_needed(&strict) && !stock::is_needed(&free));
}

#[test]
fn one_thread_at_a_time_has_a_lock() {
    static COUNT: Mutex<u64> = Mutex::new(0);
    begin_company();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                for _ in 0..10_000 {
                    let mut count = COUNT.lock();
                    let before = *count;
                    *count = before + 1;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(*COUNT.lock(), 40_000);
}

#[test]
fn a_lock_that_is_held_is_not_had() {
    let lock = Mutex::new(7);
    let guard = lock.try_lock().expect("free");
    assert!(lock.try_lock().is_none());
    drop(guard);
    assert_eq!(lock.try_lock().map(|value| *value), Some(7));
    let word = Word::new();
    assert!(!word.lock(), "nobody has died with it");
    assert!(!word.try_lock());
    word.unlock();
    assert!(word.try_lock());
}

#[test]
fn clocks_do_not_go_back() {
    let before = (time::ticks(), time::monotonic_ns());
    time::sleep_a_millisecond();
    let after = (time::ticks(), time::monotonic_ns());
    assert!(before.0 < after.0 && before.1 + 1_000_000 <= after.1);
    let (ticks, ns) = time::both();
    assert!(after.0 <= ticks && after.1 <= ns);
    assert!(time::real().0 > 1_600_000_000);
}

#[test]
fn this_process_is_there_and_runs() {
    assert_eq!(proc::pid() as u32, std::process::id());
    assert!(proc::exists(proc::pid()) && !proc::is_gone(proc::tid()));
    assert!(matches!(proc::state(proc::pid()), Some(b'R' | b'S')));
}
