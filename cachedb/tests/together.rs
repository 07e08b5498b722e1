//! Many at once: writers add, readers read, others compact and list.

mod common;

use common::{Bench, key};
use ppin_cachedb::Error;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn writers_readers_and_compaction_do_not_disturb_each_other() {
    let bench = Bench::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let bench = &bench;
                scope.spawn(move || {
                    for round in 0..60 {
                        let head = 16 * (100 * writer + round);
                        bench.add(&key(1), round as u32, &[head, -16]);
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    match bench.open().compact() {
                        Ok(_) | Err(Error::Busy) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let verified = bench.open().verify(|_, _| ()).unwrap();
                assert!(verified.damage.is_empty(), "{:?}", verified.damage);
                bench.open().list().unwrap();
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(outcomes.iter().all(Result::is_ok));
    });
    let heads = |writer| (0..60).map(move |round| 16 * (100 * writer + round));
    let expected: BTreeSet<i32> = (0..4).flat_map(heads).chain([-16]).collect();
    assert_eq!(bench.heads(&key(1)), expected);
    bench.open().compact().unwrap();
    assert_eq!(bench.heads(&key(1)), expected);
}
