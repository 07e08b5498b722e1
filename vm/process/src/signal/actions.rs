//! Signal dispositions: those that the app has set, and those that the kernel is given.

use super::kernel_kills;
use super::sets::{DEFAULT, FAULTS, HOLD_ALL, IGNORE, MAX_SIGNAL, UNCATCHABLE, bit, default_kills};
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_os::c;
use ppin_os::signals::{KernelSigaction, SigSet, sigaction};

/// Address of the VM's signal handler.
static HANDLER: AtomicU64 = AtomicU64::new(0);
/// Address to which it returns.
static RESTORER: AtomicU64 = AtomicU64::new(0);

/// Sets the address of the VM's signal handler, and that to which it returns (`sa_restorer`).
pub fn handled_at(handler: u64, restorer: u64) {
    HANDLER.store(handler, Ordering::Relaxed);
    RESTORER.store(restorer, Ordering::Relaxed);
}

/// Dispositions of one process, as the app set them.
#[derive(Clone, Debug)]
pub struct Actions {
    table: [KernelSigaction; MAX_SIGNAL as usize + 1],
    /// Signals of which the kernel still has the disposition that exec has left, which was not asked
    /// for: most programs never need that of most signals, and to ask for all takes a hundredth
    /// of a start.
    unasked: SigSet,
}

impl Actions {
    /// All default.
    pub const DEFAULT: Self = Self {
        table: [KernelSigaction::DEFAULT; MAX_SIGNAL as usize + 1],
        unasked: 0,
    };

    /// Takes over the dispositions that exec has left: default, or ignored. `ignored` are ignored
    /// signals that the kernel does not know as such. The kernel's dispositions are installed where they
    /// differ from the app's; to install one also tells what was there. Signals must be blocked.
    #[must_use]
    pub fn taken_over(ignored: SigSet) -> Self {
        let mut actions = Self::DEFAULT;
        // Those that cannot be caught are not ignored either.
        for signal in (1..=MAX_SIGNAL).filter(|signal| UNCATCHABLE & bit(*signal) == 0) {
            let ours = kernel_action(signal, &KernelSigaction::DEFAULT);
            match ours.handler {
                DEFAULT => actions.unasked |= bit(signal),
                _ => actions.take(signal, &ours, ignored & bit(signal) != 0),
            }
        }
        actions
    }

    /// Takes over the dispositions of a program that runs already. Signals must be blocked, in all its threads.
    #[must_use]
    pub fn of_running() -> Self {
        let mut actions = Self {
            unasked: !UNCATCHABLE,
            ..Self::DEFAULT
        };
        take_over(&mut actions);
        actions
    }

    /// The app's disposition of `signal`, which must be known: of a signal that the kernel gives to the VM, or
    /// after [`Self::learn`].
    #[must_use]
    pub fn get(&self, signal: u32) -> KernelSigaction {
        debug_assert!(self.unasked & bit(signal) == 0, "not asked for");
        self.table[signal as usize]
    }

    /// Notes the app's disposition of `signal`. The VM lock is held.
    pub fn set(&mut self, signal: u32, action: KernelSigaction) {
        self.table[signal as usize] = action;
        // (Not written in vain: see `reset`.)
        if self.unasked & bit(signal) != 0 {
            self.unasked &= !bit(signal);
        }
    }

    /// The disposition of `signal`, which is known, becomes the default (`SA_RESETHAND`). The VM lock need not
    /// be held.
    pub fn reset(&mut self, signal: u32) {
        self.table[signal as usize].handler = DEFAULT;
    }

    /// Asks the kernel for those of `signals` that have not been asked for. This process must be the running
    /// one, and the VM lock held.
    pub fn learn(&mut self, signals: SigSet) {
        let wanted = self.unasked & signals;
        for signal in (1..=MAX_SIGNAL).filter(|signal| wanted & bit(*signal) != 0) {
            // SAFETY: only asks.
            let found = unsafe { sigaction(signal, None) };
            self.set(signal, found.unwrap_or_default());
        }
    }

    /// Signals of which the kernel has the app's own disposition, which is not known.
    #[must_use]
    pub fn unasked(&self) -> SigSet {
        self.unasked
    }

    fn take(&mut self, signal: u32, ours: &KernelSigaction, ignored: bool) {
        // SAFETY: the handler is the VM's signal handler.
        let found = unsafe { sigaction(signal, Some(ours)) }.unwrap_or_default();
        let app = &mut self.table[signal as usize];
        *app = found;
        if ignored {
            app.handler = IGNORE;
        }
        if app.handler == IGNORE {
            // What has arrived since goes, too, as if it had been ignored all the time.
            self.install(signal);
        }
    }

    /// Signals that the app ignores, while the kernel has the VM's handler for them.
    #[must_use]
    pub fn ignored_faults(&self) -> SigSet {
        self.ignored_and_caught()[0] & FAULTS
    }

    /// Has the kernel ignore `signals`, for a program that is about to be executed natively. The VM
    /// must not fault until each is installed again.
    pub fn leave_ignored(signals: SigSet) {
        let ignore = KernelSigaction {
            handler: IGNORE,
            ..KernelSigaction::default()
        };
        for signal in (1..=MAX_SIGNAL).filter(|signal| signals & bit(*signal) != 0) {
            // SAFETY: no handler is installed.
            let _ = unsafe { sigaction(signal, Some(&ignore)) };
        }
    }

    /// Resets all signals to the default, except ignored ones (the kernel's
    /// `flush_signal_handlers`); returns the signals that had a handler. (Those not asked for have none.)
    pub fn clear(&mut self) -> SigSet {
        let mut handled = 0;
        for (signal, action) in (0u32..).zip(&mut self.table).skip(1) {
            let ignored = action.handler == IGNORE;
            handled |= if action.handler > IGNORE {
                bit(signal)
            } else {
                0
            };
            *action = KernelSigaction {
                handler: if ignored { IGNORE } else { DEFAULT },
                ..KernelSigaction::default()
            };
        }
        handled
    }

    /// Signals that are known to be ignored, and those that have a handler.
    #[must_use]
    pub fn ignored_and_caught(&self) -> [SigSet; 2] {
        let all = |is: fn(u64) -> bool| {
            let such = (0u32..)
                .zip(&self.table)
                .skip(1)
                .filter(|it| is(it.1.handler));
            such.fold(0, |set, (signal, _)| set | bit(signal))
        };
        [
            all(|handler| handler == IGNORE),
            all(|handler| handler > IGNORE),
        ]
    }

    /// Installs the kernel's disposition of `signal` that implements the app's.
    pub fn install(&self, signal: u32) {
        if UNCATCHABLE & bit(signal) != 0 {
            return;
        }
        let ours = kernel_action(signal, &self.get(signal));
        // SAFETY: the handler is the VM's signal handler, or one that the app has set.
        let _ = unsafe { sigaction(signal, Some(&ours)) };
    }
}

/// The kernel's disposition that implements `app`, the app's disposition of `signal`.
fn kernel_action(signal: u32, app: &KernelSigaction) -> KernelSigaction {
    const KEPT: u64 = (c::SA_RESTART | c::SA_NOCLDSTOP | c::SA_NOCLDWAIT) as u64;
    let needed = FAULTS & bit(signal) != 0;
    let kills = app.handler == DEFAULT && default_kills(signal);
    let left = kills && kernel_kills::by(signal);
    let caught = app.handler > IGNORE || (kills && !left);
    if !caught && (left || !needed) {
        return KernelSigaction {
            handler: app.handler,
            flags: app.flags & KEPT,
            ..*app
        };
    }
    // The handler itself may fault when it reads app memory.
    let nested = if needed { c::SA_NODEFER } else { 0 };
    let ours = u64::from(c::SA_SIGINFO | c::SA_ONSTACK | c::SA_RESTORER | nested);
    KernelSigaction {
        handler: HANDLER.load(Ordering::Relaxed),
        flags: ours | (app.flags & KEPT),
        restorer: RESTORER.load(Ordering::Relaxed),
        mask: HOLD_ALL,
    }
}

/// Installs the kernel's dispositions of all signals. Signals with a deadly default action (such as
/// `SIGPIPE`) are caught, too, so that the cache can be saved before the process dies.
pub fn take_over(actions: &mut Actions) {
    actions.learn(SigSet::MAX);
    for signal in 1..=MAX_SIGNAL {
        let app = actions.get(signal);
        if app.handler != IGNORE || FAULTS & bit(signal) != 0 {
            actions.install(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dispositions with these handlers.
    fn actions(handlers: &[(u32, u64)]) -> Actions {
        let mut actions = Actions::DEFAULT;
        for (signal, handler) in handlers {
            actions.table[*signal as usize].handler = *handler;
        }
        actions
    }

    const MINE: u64 = 0x40_1000;

    #[test]
    fn signals_are_ignored_or_caught_as_the_app_says() {
        let all = actions(&[
            (c::SIGSEGV, IGNORE),
            (c::SIGCHLD, IGNORE),
            (c::SIGUSR1, MINE),
        ]);
        let ignored = bit(c::SIGSEGV) | bit(c::SIGCHLD);
        assert_eq!(all.ignored_and_caught(), [ignored, bit(c::SIGUSR1)]);
        assert_eq!(all.ignored_faults(), bit(c::SIGSEGV));
    }

    #[test]
    fn what_was_not_asked_for_is_what_the_kernel_has() {
        let mut all = Actions {
            unasked: bit(c::SIGURG) | bit(c::SIGWINCH),
            ..actions(&[(c::SIGUSR1, MINE)])
        };
        let ignore = KernelSigaction {
            handler: IGNORE,
            ..KernelSigaction::default()
        };
        // SAFETY: no handler is installed, and nobody here waits for the signal.
        unsafe { sigaction(c::SIGURG, Some(&ignore)) }.expect("may be ignored");
        all.set(c::SIGWINCH, ignore);
        all.learn(SigSet::MAX);
        assert_eq!(all.unasked(), 0);
        assert_eq!(all.get(c::SIGURG).handler, IGNORE);
        assert_eq!(all.get(c::SIGUSR1).handler, MINE);
        assert_eq!(all.get(c::SIGWINCH).handler, IGNORE, "set by the app since");
    }

    #[test]
    fn clearing_keeps_what_is_ignored() {
        let mut all = actions(&[(c::SIGHUP, IGNORE), (c::SIGUSR1, MINE), (MAX_SIGNAL, MINE)]);
        all.table[c::SIGHUP as usize].flags = 7;
        assert_eq!(all.clear(), bit(c::SIGUSR1) | bit(MAX_SIGNAL));
        assert_eq!(all.ignored_and_caught(), [bit(c::SIGHUP), 0]);
        assert_eq!(all.table[c::SIGHUP as usize].flags, 0);
    }

    /// What the kernel is given for `signal` with the app's handler and flags.
    fn given(signal: u32, handler: u64, flags: u32) -> KernelSigaction {
        handled_at(0x77_0000, 0x77_1000);
        let app = KernelSigaction {
            handler,
            flags: flags.into(),
            ..KernelSigaction::default()
        };
        kernel_action(signal, &app)
    }

    #[test]
    fn deadly_signals_faults_and_handlers_go_to_the_vm() {
        let ours = |signal, handler| given(signal, handler, 0).handler == 0x77_0000;
        assert!(ours(c::SIGUSR1, MINE) && ours(c::SIGTERM, DEFAULT));
        assert!(ours(c::SIGSEGV, IGNORE), "the cache needs its faults");
        assert!(!ours(c::SIGTERM, IGNORE) && !ours(c::SIGCHLD, DEFAULT));
    }

    #[test]
    fn the_kernel_keeps_the_flags_that_it_acts_upon() {
        let flags = c::SA_RESTART | c::SA_ONSTACK | c::SA_NODEFER;
        let caught = given(c::SIGUSR1, MINE, flags).flags as u32;
        assert_eq!(caught & c::SA_RESTART, c::SA_RESTART);
        assert_eq!(caught & c::SA_NODEFER, 0, "handlers of the VM do not nest");
        assert_eq!(
            given(c::SIGSEGV, MINE, 0).flags as u32 & c::SA_NODEFER,
            c::SA_NODEFER
        );
        let left = given(c::SIGCHLD, IGNORE, c::SA_NOCLDWAIT | c::SA_NODEFER);
        assert_eq!(left.flags as u32, c::SA_NOCLDWAIT);
    }
}
