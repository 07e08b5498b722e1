//! The `syscall` instruction, and the permit that each use of it needs.
//!
//! [`Kernel`] says which system calls a thread may make. It gives out a [`Permit`] for one call, and
//! only a permit can be executed. Two constructors of permits ask no filter; their names say for
//! which calls they are.

use crate::errno::{Errno, Result};
use crate::filter;
use ppin_seccomp::{Action, Confinement};

/// The kernel as one thread may call it: the app's filters that confine the thread.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// `None`: the thread is not confined.
    filters: Option<&'static Confinement>,
}

impl Kernel {
    /// The kernel for the running thread. (One load, as long as no thread is confined.)
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self {
            filters: filter::of_this_thread(),
        }
    }

    /// Permits call `nr`, if the filters allow it.
    ///
    /// # Errors
    /// The error that the filters give for the call; `ENOSYS` if they would do something else, such
    /// as kill the process.
    pub fn permit(self, nr: u32, args: [usize; 6]) -> Result<Permit> {
        let verdict = |filters: &Confinement| filters.verdict(&filter::call(nr, &args));
        match self.filters.map_or(Action::Allow, verdict) {
            Action::Allow => Ok(Permit { nr, args }),
            Action::Error(number) => Err(Errno(i32::from(number))),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Whether the filters allow call `nr`, for calls whose arguments do not matter.
    #[must_use]
    pub fn allows(self, nr: u32) -> bool {
        self.permit(nr, [0; 6]).is_ok()
    }
}

/// The permission to make one system call, once.
#[derive(Debug)]
#[must_use = "a permit does nothing until it is executed"]
pub struct Permit {
    nr: u32,
    args: [usize; 6],
}

impl Permit {
    /// A call of the app: what its filters do to the call is the app's business.
    pub const fn for_the_app(nr: u32, args: [usize; 6]) -> Self {
        Self { nr, args }
    }

    /// A call of the VM that must be made even if a filter kills the process for it.
    pub const fn despite_filters(nr: u32, args: [usize; 6]) -> Self {
        Self { nr, args }
    }

    /// Executes the call; returns the kernel's raw value.
    ///
    /// # Safety
    /// As the system call itself: pointers must be valid for what the kernel does.
    pub unsafe fn execute(self) -> isize {
        let Self { nr, args } = self;
        let result: isize;
        // SAFETY: the caller answers for the call; the clobbers are those of `syscall`.
        unsafe {
            core::arch::asm!(
                "syscall",
                inlateout("rax") nr as isize => result,
                in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
                in("r10") args[3], in("r8") args[4], in("r9") args[5],
                lateout("rcx") _, lateout("r11") _,
                options(nostack),
            );
        }
        result
    }
}

#[cfg(test)]
mod tests;
