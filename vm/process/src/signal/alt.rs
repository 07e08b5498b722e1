//! The app's alternate signal stack.

pub use ppin_os::c::{SS_AUTODISARM, SS_DISABLE, SS_ONSTACK};

/// The app's alternate stack (sigaltstack(2)); size 0: none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct AltStack {
    /// Lowest address.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// `SS_AUTODISARM` is set.
    pub autodisarm: bool,
    /// It was set with `SS_ONSTACK`, which has no effect but is shown in frames.
    pub marked: bool,
    /// It was neither set nor disabled since the program began. The kernel then does not report
    /// `SS_DISABLE`, which is visible in frames.
    pub untouched: bool,
}

impl AltStack {
    /// Whether `sp` lies on the alternate stack.
    #[must_use]
    pub fn holds(&self, sp: u64) -> bool {
        self.size != 0 && sp > self.base && sp - self.base <= self.size
    }

    /// Whether the kernel considers the alternate stack in use at `sp`: one that disarms itself
    /// never is.
    #[must_use]
    pub fn in_use(&self, sp: u64) -> bool {
        self.holds(sp) && !self.autodisarm
    }

    /// The `stack_t` of the app's setting, for signal frames.
    #[must_use]
    pub fn as_set(&self) -> [u64; 3] {
        let mode = match (self.size, self.marked) {
            (0, _) => u32::from(!self.untouched) * SS_DISABLE,
            (_, true) => SS_ONSTACK,
            _ => 0,
        };
        [self.base, u64::from(mode | self.flag_bits()), self.size]
    }

    /// The `stack_t` that `sigaltstack` returns to an app whose stack pointer is `sp`.
    #[must_use]
    pub fn as_told(&self, sp: u64) -> [u64; 3] {
        let mode = match self.size {
            0 => SS_DISABLE,
            _ => u32::from(self.in_use(sp)) * SS_ONSTACK,
        };
        [self.base, u64::from(mode | self.flag_bits()), self.size]
    }

    fn flag_bits(&self) -> u32 {
        u32::from(self.autodisarm) * SS_AUTODISARM
    }
}
