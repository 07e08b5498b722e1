//! Limits of memory (`RLIMIT_AS`, `RLIMIT_DATA`). The app means its own memory, the kernel
//! counts ours, too: so it is told as much more as we have, and the app is told what it has
//! asked for. A program that is executed gets the app's limits.

use super::pass;
use crate::budget;
use crate::holdings;
use crate::image::maps::{self, MapEntry};
use crate::sys::{c, peek, proc, raw};
use crate::thread::Thread;
use crate::vm::{self, Vm};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

const EFAULT: isize = -14;
const SOFT: usize = 0;
const HARD: usize = 1;
/// What both are, in this order.
type Limit = [u64; 2];

/// One limit that is wider than the app believes. Whoever has set another one since
/// (somebody else; a vfork child, for itself) is believed instead.
struct Widened {
    resource: u32,
    asked: [AtomicU64; 2],
    given: [AtomicU64; 2],
}

static WIDENED: [Widened; 2] = [
    Widened::none(budget::LIMITS[0]),
    Widened::none(budget::LIMITS[1]),
];

/// `setrlimit`, `getrlimit` and `prlimit64`.
pub fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> isize {
    let (resource, new, old) = match nr {
        c::__NR_getrlimit => (args[0], None, Some(1)),
        c::__NR_setrlimit => (args[0], Some(1), None),
        _ => (args[1], Some(2), Some(3)),
    };
    let own = nr != c::__NR_prlimit64 || [0, proc::pid()].contains(&(args[0] as i32));
    let memory = WIDENED.iter().find(|it| it.resource == resource as u32);
    let place = |at: Option<usize>| at.filter(|at| args[*at] != 0);
    match memory.filter(|_| own) {
        Some(limit) => limit.call(thread, nr, args, place(new), place(old)),
        None => pass(nr, args),
    }
}

/// The limits are the app's from here on: a program is about to be executed.
pub fn narrow() {
    for limit in &WIDENED {
        let (asked, given) = (Widened::get(&limit.asked), Widened::get(&limit.given));
        if given != asked && limit.current() == given {
            limit.set(asked);
        }
    }
}

/// It has not come to that.
pub fn widen_again(thread: &Thread) {
    for limit in &WIDENED {
        let (asked, given) = (Widened::get(&limit.asked), Widened::get(&limit.given));
        if given != asked && limit.current() == asked && !limit.set(given) {
            // What was given up for good is not had again (setrlimit(2)).
            limit.set([given[SOFT].min(asked[HARD]), asked[HARD]]);
            if !thread.borrowed_memory {
                Widened::put(&limit.given, limit.current());
            }
        }
    }
}

/// The app was started under limits: they are widened if that is allowed.
pub fn inherit(vm: &Vm) {
    for limit in &WIDENED {
        let asked = limit.current();
        if budget::allowed(limit.resource, asked) == u64::MAX {
            continue;
        }
        let ours = limit.ours(vm);
        let privileged = limit.and(asked, ours);
        let usual = limit.wider(asked, ours);
        if let Some(given) = [privileged, usual].into_iter().find(|it| limit.set(*it)) {
            limit.note(asked, given);
        }
    }
}

/// The kernel counts `len` bytes more of ours: whether it allows for them now. Not for a
/// vfork child, whose limits are not those that are known here.
pub fn raise(len: u64) -> bool {
    let wider = WIDENED.iter().filter(|it| it.is_wider());
    wider.filter(|limit| limit.raise(len)).count() != 0
}

/// How many bytes the app is allowed, as far as it knows.
#[must_use]
pub fn allowed(resource: u32) -> u64 {
    let known = WIDENED.iter().find(|it| it.resource == resource);
    let limit = known.map_or_else(
        || proc::limits(resource),
        |limit| limit.as_asked(limit.current()),
    );
    budget::allowed(resource, limit)
}

/// As the app knows them, by the names of proc_pid_limits(5).
#[must_use]
pub fn shown() -> [(&'static str, Limit); 2] {
    let [space, data] = WIDENED.each_ref().map(|it| it.as_asked(it.current()));
    [("Max address space", space), ("Max data size", data)]
}

impl Widened {
    const fn none(resource: u32) -> Self {
        Self {
            resource,
            asked: [const { AtomicU64::new(0) }; 2],
            given: [const { AtomicU64::new(0) }; 2],
        }
    }

    fn get(limit: &[AtomicU64; 2]) -> Limit {
        [SOFT, HARD].map(|part| limit[part].load(Ordering::Relaxed))
    }

    fn is_wider(&self) -> bool {
        Self::get(&self.given) != Self::get(&self.asked) && proc::is_remembered()
    }

    /// The hard limit follows where that is allowed.
    fn raise(&self, len: u64) -> bool {
        let given = Self::get(&self.given);
        let next = self.and(given, len);
        if self.current() != given {
            return false;
        }
        let within = [next[SOFT], given[HARD]];
        let mut wider = [within, next].into_iter().filter(|it| *it != given);
        let raised = wider.find(|it| self.set(*it));
        if let Some(raised) = raised {
            Self::put(&self.given, raised);
        }
        raised.is_some()
    }

    /// Both, and `more`; but a soft limit that stands for the hard one stays what it is.
    fn and(&self, limit: Limit, more: u64) -> Limit {
        let stands = budget::allowed(self.resource, limit) != limit[SOFT];
        let soft = if stands { 0 } else { more };
        [
            limit[SOFT].saturating_add(soft),
            limit[HARD].saturating_add(more),
        ]
    }

    fn put(limit: &[AtomicU64; 2], value: Limit) {
        for (part, value) in limit.iter().zip(value) {
            part.store(value, Ordering::Relaxed);
        }
    }

    fn note(&self, asked: Limit, given: Limit) {
        Self::put(&self.asked, asked);
        Self::put(&self.given, given);
    }

    /// What the kernel says, in the app's terms.
    fn as_asked(&self, kernel: Limit) -> Limit {
        if kernel == Self::get(&self.given) {
            Self::get(&self.asked)
        } else {
            kernel
        }
    }

    fn current(&self) -> Limit {
        let mut limit: Limit = [0; 2];
        let args = [
            self.resource as usize,
            limit.as_mut_ptr() as usize,
            0,
            0,
            0,
            0,
        ];
        // SAFETY: a `struct rlimit` of ours.
        unsafe { raw(c::__NR_getrlimit, args) };
        limit
    }

    fn set(&self, limit: Limit) -> bool {
        let args = [self.resource as usize, limit.as_ptr() as usize, 0, 0, 0, 0];
        // SAFETY: a `struct rlimit` of ours.
        unsafe { raw(c::__NR_setrlimit, args) == 0 }
    }

    /// The app's call, with structures of ours in place of its own at the places of `args`
    /// that hold one.
    fn call(
        &self,
        thread: &Thread,
        nr: u32,
        args: &[usize; 6],
        new: Option<usize>,
        old: Option<usize>,
    ) -> isize {
        let asked = new.map(|at| peek::read_value::<Limit>(args[at] as u64));
        if asked == Some(None) {
            return pass(nr, args);
        }
        let before = (
            self.current(),
            Self::get(&self.given),
            Self::get(&self.asked),
        );
        let given = asked.flatten().map(|asked| self.given_for(thread, asked));
        let (mut passed, mut was) = (*args, before.0);
        if let (Some(at), Some(given)) = (new, &given) {
            passed[at] = given.as_ptr() as usize;
        }
        if let Some(at) = old {
            passed[at] = was.as_mut_ptr() as usize;
        }
        let result = pass(nr, &passed);
        if result != 0 {
            return result;
        }
        if let (Some(asked), Some(given), false) = (asked.flatten(), given, thread.borrowed_memory)
        {
            self.note(asked, given);
        }
        let shown = if was == before.1 { before.2 } else { was };
        match old {
            Some(at) if !peek::write_value(args[at] as u64, &shown) => EFAULT,
            _ => 0,
        }
    }

    /// What the kernel is told. Before, we take what we need: the app may use up what it
    /// leaves itself. (A vfork child limits itself alone, and has no memory of ours.)
    fn given_for(&self, thread: &Thread, asked: Limit) -> Limit {
        let none = budget::allowed(self.resource, asked) == u64::MAX;
        if none || asked[SOFT] > asked[HARD] || thread.borrowed_memory {
            return asked;
        }
        let mut vm = vm::lock();
        budget::note_limit(self.resource, asked);
        vm.cache.limit = vm.cache.limit.min(budget::code());
        crate::install::prepare_for_want(&mut vm);
        self.wider(asked, self.ours(&vm))
    }

    /// `asked` and `ours` more. The hard limit is raised beyond what it is only if the app
    /// asks for that, which the kernel may refuse.
    fn wider(&self, asked: Limit, ours: u64) -> Limit {
        let kernel = self.current();
        // Raised later on without a privilege, should we need more.
        const MORE: u64 = 1 << 30;
        let hard = asked[HARD].saturating_add(ours).saturating_add(MORE);
        let hard = if asked[HARD] <= self.as_asked(kernel)[HARD] {
            hard.min(kernel[HARD])
        } else {
            hard.max(kernel[HARD].saturating_add(1))
        };
        [self.and(asked, ours)[SOFT].min(hard), hard]
    }

    /// How much of what this limit counts is ours.
    fn ours(&self, vm: &Vm) -> u64 {
        let counts = |map: &&MapEntry| self.resource == c::RLIMIT_AS || map.writable && !map.shared;
        let holdings: Vec<_> = holdings::all(vm).collect();
        let is_ours = |map: &&MapEntry| {
            let at = map.start;
            holdings
                .iter()
                .any(|(start, end)| (*start..*end).contains(&at))
        };
        let all = maps::read().unwrap_or_default();
        let ours = all.iter().filter(is_ours).filter(counts);
        ours.map(|map| map.end - map.start).sum()
    }
}
