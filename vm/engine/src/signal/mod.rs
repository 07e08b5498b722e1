//! Signals.
//!
//! The kernel delivers every signal that the app handles (or dies of) to one
//! handler of ours, on a stack of ours. What happens next depends on where the
//! thread was ([`handler`]): at an app instruction boundary the app's frame is
//! built at once ([`deliver`]); in inserted code or a transit routine the thread is
//! single-stepped forward to the next boundary; in the VM the signal waits until
//! the cache is about to be entered. While one waits, the kernel holds back all
//! others, so one place for it is enough.
//!
//! The five synchronous fault signals are never blocked in the kernel: the cache
//! needs them. The app's own wish is kept in [`state::SignalState::mask`].

pub mod compat;
pub mod deliver;
pub mod dump;
pub mod entry;
pub mod fatal;
pub mod handler;
pub mod held;
pub mod inside;
pub mod native;
pub mod origin;
pub mod returning;
pub mod state;
pub mod step;
pub mod translate;

use ppin_os::c;
use ppin_os::signals::{KernelSigaction, SigSet, sigaction};
use state::SignalState;

/// Highest signal number.
pub const MAX_SIGNAL: u32 = 64;

/// Set with only `signal`.
#[must_use]
pub const fn bit(signal: u32) -> SigSet {
    1 << (signal - 1)
}

/// Faults that the cache itself needs: never blocked in the kernel.
pub const FAULTS: SigSet =
    bit(c::SIGSEGV) | bit(c::SIGBUS) | bit(c::SIGILL) | bit(c::SIGFPE) | bit(c::SIGTRAP);

/// Signals that cannot be caught or blocked.
pub const UNCATCHABLE: SigSet = bit(c::SIGKILL) | bit(c::SIGSTOP);

/// What the kernel must have in place of an app's mask.
#[must_use]
pub const fn kernel_mask(app: SigSet) -> SigSet {
    app & !FAULTS
}

/// Everything that can wait.
pub const HOLD_ALL: SigSet = !FAULTS;

/// Holds back faults, too: for moments in which a thread has no place to handle any.
pub const NOTHING: SigSet = !0;

/// Whether the default action of `signal` ends the process (signal(7)).
#[must_use]
pub const fn default_kills(signal: u32) -> bool {
    !matches!(
        signal,
        c::SIGCHLD
            | c::SIGCONT
            | c::SIGSTOP
            | c::SIGTSTP
            | c::SIGTTIN
            | c::SIGTTOU
            | c::SIGURG
            | c::SIGWINCH
            | c::SIGKILL
    )
}

/// Whether the default action of `signal` is to leave a core file, too (signal(7)).
#[must_use]
pub const fn dumps_core(signal: u32) -> bool {
    matches!(
        signal,
        c::SIGQUIT
            | c::SIGILL
            | c::SIGTRAP
            | c::SIGABRT
            | c::SIGBUS
            | c::SIGFPE
            | c::SIGSEGV
            | c::SIGXCPU
            | c::SIGXFSZ
            | c::SIGSYS
    )
}

/// `SIG_DFL`.
pub const DEFAULT: u64 = 0;
/// `SIG_IGN`.
pub const IGNORE: u64 = 1;

/// Dispositions of one process, as the app set them.
#[derive(Clone, Debug)]
pub struct Actions(pub [KernelSigaction; MAX_SIGNAL as usize + 1]);

impl Actions {
    /// Reads what exec left: defaults and ignored signals, of which the kernel does not know
    /// those of `ignored`.
    #[must_use]
    pub fn inherited(ignored: SigSet) -> Self {
        let mut actions = [KernelSigaction::default(); MAX_SIGNAL as usize + 1];
        for (signal, action) in (0u32..).zip(&mut actions).skip(1) {
            // SAFETY: only asks.
            *action = unsafe { sigaction(signal, None) }.unwrap_or_default();
            if ignored & bit(signal) != 0 {
                action.handler = IGNORE;
            }
        }
        Self(actions)
    }

    /// Signals that are ignored, though the kernel has our handler for them.
    #[must_use]
    pub fn ignored_faults(&self) -> SigSet {
        self.ignored_and_caught()[0] & FAULTS
    }

    /// Has the kernel ignore `signals`, for a program that is about to be executed without
    /// us. There must be no fault of ours until each is installed again.
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

    /// Back to the defaults, but for ignored signals (the kernel's `flush_signal_handlers`);
    /// the signals that were handled.
    pub fn clear(&mut self) -> SigSet {
        let mut handled = 0;
        for (signal, action) in (0u32..).zip(&mut self.0).skip(1) {
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

    /// Signals that are ignored, and those that have a handler.
    #[must_use]
    pub fn ignored_and_caught(&self) -> [SigSet; 2] {
        let all = |is: fn(u64) -> bool| {
            let such = (0u32..).zip(&self.0).skip(1).filter(|it| is(it.1.handler));
            such.fold(0, |set, (signal, _)| set | bit(signal))
        };
        [
            all(|handler| handler == IGNORE),
            all(|handler| handler > IGNORE),
        ]
    }

    /// Brings the kernel's disposition of `signal` in line with the app's.
    pub fn install(&self, signal: u32) {
        if UNCATCHABLE & bit(signal) != 0 {
            return;
        }
        let ours = kernel_action(signal, &self.0[signal as usize]);
        // SAFETY: the handler is made to be one; dispositions of the app stay.
        let _ = unsafe { sigaction(signal, Some(&ours)) };
    }
}

/// What the kernel is told for a disposition of the app.
fn kernel_action(signal: u32, app: &KernelSigaction) -> KernelSigaction {
    const KEPT: u64 = (c::SA_RESTART | c::SA_NOCLDSTOP | c::SA_NOCLDWAIT) as u64;
    let needed = FAULTS & bit(signal) != 0;
    let kills = app.handler == DEFAULT && default_kills(signal);
    let left = kills && fatal::is_left(signal);
    let caught = app.handler > IGNORE || (kills && !left);
    if !caught && (left || !needed) {
        return KernelSigaction {
            handler: app.handler,
            flags: app.flags & KEPT,
            ..*app
        };
    }
    // The handler itself looks at memory that may not be there.
    let nested = if needed { c::SA_NODEFER } else { 0 };
    let ours = u64::from(c::SA_SIGINFO | c::SA_ONSTACK | SA_RESTORER | nested);
    KernelSigaction {
        handler: entry::signal_entry as *const () as usize as u64,
        flags: ours | (app.flags & KEPT),
        restorer: entry::restorer as *const () as usize as u64,
        mask: HOLD_ALL,
    }
}

const SA_RESTORER: u32 = 0x0400_0000;

/// Takes over all signals of the process. `SIGPIPE` and friends with default action
/// are caught too, so that the cache can be saved before the process dies.
pub fn take_over(actions: &Actions) {
    for signal in 1..=MAX_SIGNAL {
        let app = &actions.0[signal as usize];
        if app.handler != IGNORE || FAULTS & bit(signal) != 0 {
            actions.install(signal);
        }
    }
}

/// Tells the kernel of the thread's signal stack.
pub fn install_stack(state: &SignalState) {
    let stack: [u64; 3] = [state.stack.0, 0, state.stack.1];
    // SAFETY: a stack_t (pointer, flags, size); the memory is the thread's own.
    let _ = unsafe {
        ppin_os::call(
            c::__NR_sigaltstack,
            [stack.as_ptr() as usize, 0, 0, 0, 0, 0],
        )
    };
}
