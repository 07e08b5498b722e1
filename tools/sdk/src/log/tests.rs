use super::ring::EVENTS;
use super::*;
use std::sync::Mutex;

/// Keeps what it is given, by thread.
#[derive(Default)]
struct Kept(Mutex<Vec<Vec<u64>>>);

impl Kept {
    fn keep(&self, thread: ThreadId, events: &mut dyn Iterator<Item = [u64; 2]>) {
        let mut kept = self.0.lock().unwrap();
        let wanted = kept.len().max(thread.0 as usize + 1);
        kept.resize(wanted, Vec::new());
        for [n, twice] in events {
            assert_eq!(twice, 2 * n, "an event in pieces");
            kept[thread.0 as usize].push(n);
        }
    }

    fn of(&self, thread: u32) -> Vec<u64> {
        let kept = self.0.lock().unwrap();
        kept.get(thread as usize).cloned().unwrap_or_default()
    }
}

fn record(log: &Log<2>, kept: &Kept, thread: u32, events: std::ops::Range<u64>) {
    for n in events {
        log.push(ThreadId(thread), [n, 2 * n], &|id, e| kept.keep(id, e));
    }
}

#[test]
fn order_is_kept_and_nothing_is_lost() {
    let (log, kept) = (Log::new(), Kept::default());
    let many = 3 * EVENTS + 7;
    record(&log, &kept, 0, 0..many);
    assert_eq!(kept.of(0).len() as u64, 3 * EVENTS);
    log.flush(&|id, e| kept.keep(id, e));
    log.flush(&|id, e| kept.keep(id, e));
    assert_eq!(kept.of(0), (0..many).collect::<Vec<_>>());
    assert_eq!(log.lost(), 0);
}

#[test]
fn threads_record_at_once_and_flush_from_outside() {
    let (log, kept) = (Log::new(), Kept::default());
    let many = 20 * EVENTS + 1;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (log, kept) = (&log, &kept);
            scope.spawn(move || {
                record(log, kept, thread, 0..many);
                log.end(ThreadId(thread), &|id, e| kept.keep(id, e));
            });
        }
        for _ in 0..100 {
            log.flush(&|id, e| kept.keep(id, e));
        }
    });
    for thread in 0..4 {
        assert_eq!(kept.of(thread), (0..many).collect::<Vec<_>>());
    }
    assert_eq!(log.lost(), 0);
}

#[test]
fn rings_of_ended_threads_serve_again() {
    let (log, kept) = (Log::new(), Kept::default());
    for thread in 0..1000 {
        record(&log, &kept, thread, 0..3);
        log.end(ThreadId(thread), &|id, e| kept.keep(id, e));
        assert_eq!(kept.of(thread), [0, 1, 2]);
    }
    assert_eq!(log.made.load(Ordering::Relaxed), 1);
}

#[test]
fn a_forked_child_forgets() {
    let (log, kept) = (Log::new(), Kept::default());
    record(&log, &kept, 0, 0..5);
    record(&log, &kept, 1, 0..5);
    log.forget();
    record(&log, &kept, 1, 5..7);
    log.flush(&|id, e| kept.keep(id, e));
    assert_eq!(kept.of(0), []);
    assert_eq!(kept.of(1), [5, 6]);
}

#[test]
fn a_thread_that_recorded_nothing_ends() {
    let (log, kept) = (Log::new(), Kept::default());
    record(&log, &kept, 0, 0..1);
    log.end(ThreadId(5), &|id, e| kept.keep(id, e));
    assert_eq!(kept.of(0), []);
}
