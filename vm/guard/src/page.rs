//! What becomes of a page of app code that the app may write to.
//!
//! *Guarded*, it is read-only, and its code is translated and linked as any other; each store
//! faults. Where stores come faster than that pays, and where code writes to its own page, the
//! page is *volatile*: the app may write to it, and code on it compares itself. After a while
//! it is guarded again, to see whether the stores have stopped; if they have not, after twice
//! that while, and so on.

/// Time is in ticks of the processor: some three in a nanosecond.
pub type Ticks = u64;

/// What stores may cost at once: this many that change code.
const PATIENCE: u64 = 32;
/// As many have been forgotten after this time each.
const FORGOTTEN: Ticks = 1 << 25;
/// What one costs that changes no code. There is likely to be data, so it counts for more.
const BESIDE: u64 = 8;
/// What may be left of it when a page is guarded again.
const AGAIN: u64 = PATIENCE / 4;
/// How long a page is volatile the first time.
const FIRST: Ticks = 1 << 27;
/// And at most.
const LONGEST: Ticks = 1 << 35;

/// A store that has met the guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Store {
    /// By code of this page, which could not go on were it guarded.
    FromHere,
    /// To code that was translated, or by the kernel.
    ToCode,
    /// To something else.
    Beside,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    guarded: bool,
    volatile: bool,
    /// It will never be guarded again.
    for_good: bool,
    /// When it was guarded last, or became volatile.
    since: Ticks,
    /// How long it was volatile the last time, or is to be.
    pause: Ticks,
    /// What stores have cost.
    cost: u64,
    /// When that was reckoned.
    reckoned: Ticks,
}

impl Page {
    /// We have taken the write permission away.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// Its code compares itself.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// It is volatile, but may be guarded again.
    #[must_use]
    pub fn is_provisional(&self) -> bool {
        self.volatile && !self.for_good
    }

    /// It cannot be guarded.
    pub fn give_up(&mut self) {
        (self.volatile, self.for_good) = (true, true);
    }

    /// Whether stores have ever been too many.
    fn has_been_volatile(&self) -> bool {
        self.pause != 0
    }

    /// A page that is met for the first time. Behind one with too many stores, it is likely to
    /// be filled with code just now, as that was.
    #[must_use]
    pub fn behind(before: &Self, now: Ticks) -> Self {
        let volatile = before.has_been_volatile();
        Self {
            volatile,
            since: now,
            pause: if volatile { FIRST } else { 0 },
            ..Self::default()
        }
    }

    /// It is guarded from now on.
    pub fn guard(&mut self, now: Ticks) {
        (self.guarded, self.since) = (true, now);
    }

    /// It may be guarded, or not: that is to be undone.
    pub fn doubt(&mut self) {
        self.guarded = true;
    }

    /// The guard is gone because of `store`.
    pub fn release(&mut self, store: Store, now: Ticks) {
        self.guarded = false;
        let forgotten = now.saturating_sub(self.reckoned) / FORGOTTEN;
        self.cost = self.cost.saturating_sub(forgotten);
        self.reckoned = now;
        self.cost += match store {
            Store::Beside => BESIDE,
            Store::ToCode | Store::FromHere => 1,
        };
        if store == Store::FromHere || self.cost > PATIENCE {
            self.pause_guards(now);
        }
    }

    fn pause_guards(&mut self, now: Ticks) {
        let stood = now.saturating_sub(self.since);
        self.pause = match self.pause {
            pause if pause == 0 || stood > 4 * pause => FIRST,
            pause => (2 * pause).min(LONGEST),
        };
        (self.volatile, self.since) = (true, now);
    }

    /// Whether it has been volatile for long enough; then it is so no more.
    pub fn come_back(&mut self, now: Ticks) -> bool {
        let due = self.is_provisional() && now.saturating_sub(self.since) >= self.pause;
        if due {
            self.volatile = false;
            (self.cost, self.reckoned) = (PATIENCE - AGAIN, now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores until the page is volatile.
    fn stores(page: &mut Page, store: Store, now: Ticks, apart: Ticks) -> Option<u64> {
        let volatile = |n: &u64| {
            let now = now + n * apart;
            page.guard(now);
            page.release(store, now);
            page.is_volatile()
        };
        (0..1000).find(volatile)
    }

    #[test]
    fn code_that_is_patched_seldom_stays_guarded() {
        assert_eq!(
            stores(&mut Page::default(), Store::ToCode, 1, 0),
            Some(PATIENCE)
        );
        assert_eq!(stores(&mut Page::default(), Store::Beside, 1, 0), Some(4));
        assert_eq!(stores(&mut Page::default(), Store::FromHere, 1, 0), Some(0));
        assert_eq!(
            stores(&mut Page::default(), Store::ToCode, 1, FORGOTTEN),
            None
        );
    }

    #[test]
    fn a_page_that_is_always_written_is_tried_ever_less_often() {
        let mut page = Page::default();
        let (mut now, mut tries) = (0, 0);
        while now < 64 * LONGEST {
            page.guard(now);
            page.release(Store::FromHere, now + 100);
            assert!(!page.come_back(now + page.pause), "too early");
            now += page.pause + 100;
            assert!(page.come_back(now));
            tries += 1;
        }
        assert!((10..80).contains(&tries), "{tries}");
    }

    #[test]
    fn after_a_long_time_without_stores_all_begins_anew() {
        let mut page = Page::default();
        let mut now = 0;
        for _ in 0..5 {
            page.guard(now);
            page.release(Store::FromHere, now);
            now += page.pause;
            assert!(page.come_back(now));
        }
        assert_eq!(page.pause, 16 * FIRST);
        page.guard(now);
        now += 65 * FIRST;
        page.release(Store::FromHere, now);
        assert_eq!(page.pause, FIRST);
    }

    #[test]
    fn what_follows_a_page_that_is_being_filled_is_not_guarded_at_once() {
        let mut first = Page::default();
        assert!(!Page::behind(&first, 5).is_volatile());
        first.release(Store::FromHere, 5);
        let mut second = Page::behind(&first, 5);
        assert!(second.is_volatile() && second.has_been_volatile());
        assert!(second.come_back(5 + FIRST));
        assert!(Page::behind(&second, 6 + FIRST).is_volatile());
    }

    #[test]
    fn what_cannot_be_guarded_is_volatile_for_good() {
        let mut page = Page::default();
        page.give_up();
        assert!(page.is_volatile() && !page.is_provisional());
        assert!(!page.come_back(u64::MAX));
    }
}
