//! Memory limits (`RLIMIT_AS`, `RLIMIT_DATA`) that are wider in the kernel than the app believes:
//! the app means its own memory, but the kernel counts the runtime's with it.

use crate::call::raw;
use crate::{budget, c, proc};
use core::sync::atomic::{AtomicU64, Ordering};

/// Index of the soft limit in a [`Limit`].
pub const SOFT: usize = 0;
/// Index of the hard limit in a [`Limit`].
pub const HARD: usize = 1;
/// Soft and hard limit, in this order.
pub type Limit = [u64; 2];

/// One limit that is wider than the app believes. If the kernel's value is not `given`, somebody
/// else has set it since (another process, or a vfork child for itself), and the kernel's value
/// counts.
#[derive(Debug)]
pub struct Widened {
    /// `RLIMIT_AS` or `RLIMIT_DATA`.
    pub resource: u32,
    /// The limit that the app has asked for.
    pub asked: [AtomicU64; 2],
    /// The limit that the kernel was given.
    pub given: [AtomicU64; 2],
}

/// The two memory limits.
pub static WIDENED: [Widened; 2] = [
    Widened::none(budget::LIMITS[0]),
    Widened::none(budget::LIMITS[1]),
];

/// Gives the kernel the limits that the app has asked for, since a program is about to be executed.
pub fn narrow() {
    for limit in &WIDENED {
        let (asked, given) = (Widened::get(&limit.asked), Widened::get(&limit.given));
        if given != asked && limit.current() == given {
            let _ = limit.set(asked);
        }
    }
}

/// Widens the limits again, since the exec failed. `borrowed`: this is a vfork child, whose limits
/// are its own.
pub fn widen_again(borrowed: bool) {
    for limit in &WIDENED {
        let (asked, given) = (Widened::get(&limit.asked), Widened::get(&limit.given));
        if given != asked && limit.current() == asked && !limit.set(given) {
            // A hard limit that was lowered cannot be raised again (setrlimit(2)).
            let _ = limit.set([given[SOFT].min(asked[HARD]), asked[HARD]]);
            if !borrowed {
                Widened::put(&limit.given, limit.current());
            }
        }
    }
}

/// Widens the limits by `len` bytes of the runtime's; returns whether the kernel agreed to any.
/// Does nothing in a vfork child, whose limits are not those known here.
pub fn raise(len: u64) -> bool {
    let wider = WIDENED.iter().filter(|it| it.is_wider());
    wider.filter(|limit| limit.raise(len)).count() != 0
}

/// How many bytes the app is allowed by the limit that it knows.
#[must_use]
pub fn allowed(resource: u32) -> u64 {
    let known = WIDENED.iter().find(|it| it.resource == resource);
    let limit = known.map_or_else(
        || proc::limits(resource),
        |limit| limit.as_asked(limit.current()),
    );
    budget::allowed(resource, limit)
}

/// The limits that the app knows, by their names in proc_pid_limits(5).
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

    /// Loads a stored limit.
    #[must_use]
    pub fn get(limit: &[AtomicU64; 2]) -> Limit {
        [SOFT, HARD].map(|part| limit[part].load(Ordering::Relaxed))
    }

    fn is_wider(&self) -> bool {
        Self::get(&self.given) != Self::get(&self.asked) && proc::is_remembered()
    }

    /// Raises the limit by `len` bytes: the soft limit within the hard one if possible, otherwise
    /// both where that is allowed.
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

    /// `limit` plus `more` bytes. A soft limit that the kernel does not apply (the hard one counts
    /// instead) stays unchanged.
    #[must_use]
    pub fn and(&self, limit: Limit, more: u64) -> Limit {
        let stands = budget::allowed(self.resource, limit) != limit[SOFT];
        let soft = if stands { 0 } else { more };
        [
            limit[SOFT].saturating_add(soft),
            limit[HARD].saturating_add(more),
        ]
    }

    /// Stores a limit.
    pub fn put(limit: &[AtomicU64; 2], value: Limit) {
        for (part, value) in limit.iter().zip(value) {
            part.store(value, Ordering::Relaxed);
        }
    }

    /// Notes that the app has asked for `asked`, and that the kernel was given `given`.
    pub fn note(&self, asked: Limit, given: Limit) {
        Self::put(&self.asked, asked);
        Self::put(&self.given, given);
    }

    /// The limit that the app believes in when the kernel has `kernel`.
    #[must_use]
    pub fn as_asked(&self, kernel: Limit) -> Limit {
        if kernel == Self::get(&self.given) {
            Self::get(&self.asked)
        } else {
            kernel
        }
    }

    /// The kernel's limit.
    #[must_use]
    pub fn current(&self) -> Limit {
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

    /// Sets the kernel's limit; returns whether the kernel agreed.
    #[must_use]
    pub fn set(&self, limit: Limit) -> bool {
        let args = [self.resource as usize, limit.as_ptr() as usize, 0, 0, 0, 0];
        // SAFETY: a `struct rlimit` of ours.
        unsafe { raw(c::__NR_setrlimit, args) == 0 }
    }

    /// `asked` plus `ours` bytes. The hard limit is raised beyond the kernel's only if the app asks
    /// for that itself, which the kernel may refuse.
    #[must_use]
    pub fn wider(&self, asked: Limit, ours: u64) -> Limit {
        let kernel = self.current();
        // The soft limit can be raised up to here later, without a privilege, if the runtime needs
        // more.
        const MORE: u64 = 1 << 30;
        let hard = asked[HARD].saturating_add(ours).saturating_add(MORE);
        let hard = if asked[HARD] <= self.as_asked(kernel)[HARD] {
            hard.min(kernel[HARD])
        } else {
            hard.max(kernel[HARD].saturating_add(1))
        };
        [self.and(asked, ours)[SOFT].min(hard), hard]
    }
}

#[cfg(test)]
mod tests;
