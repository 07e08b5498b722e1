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
    /// That of the running thread, of a program that ran natively so far (sigaltstack(2)). The kernel does not tell
    /// whether the `first` thread, which exec has left without one, has ever asked for that.
    #[must_use]
    pub fn of_running(first: bool) -> Self {
        let mut stack = [0_u64; 3];
        let args = [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0];
        // SAFETY: the kernel writes a stack_t (pointer, flags, size).
        let asked = unsafe { ppin_os::call(ppin_os::c::__NR_sigaltstack, args) };
        Self::told(asked.map_or([0; 3], |_| stack), first)
    }

    /// That of which the kernel tells this.
    fn told([base, flags, size]: [u64; 3], first: bool) -> Self {
        if flags as u32 & SS_DISABLE != 0 || size == 0 {
            return Self {
                untouched: first,
                ..Self::default()
            };
        }
        Self {
            base,
            size,
            autodisarm: flags as u32 & SS_AUTODISARM != 0,
            ..Self::default()
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: AltStack = AltStack {
        base: 0x1000,
        size: 0x800,
        autodisarm: false,
        marked: false,
        untouched: false,
    };

    #[test]
    fn a_stack_holds_its_top_but_not_its_base() {
        assert_eq!(
            [0x1000, 0x1001, 0x1800, 0x1801].map(|sp| STACK.holds(sp)),
            [false, true, true, false]
        );
        assert!(!AltStack::default().holds(0), "there is none");
    }

    #[test]
    fn what_frames_show_is_not_what_the_call_returns() {
        let flags = |words: [u64; 3]| words[1] as u32;
        assert_eq!(flags(STACK.as_told(0x1400)), SS_ONSTACK);
        assert_eq!([flags(STACK.as_told(0x900)), flags(STACK.as_set())], [0, 0]);
        let marked = AltStack {
            marked: true,
            ..STACK
        };
        assert_eq!(
            [flags(marked.as_told(0x900)), flags(marked.as_set())],
            [0, SS_ONSTACK]
        );
    }

    #[test]
    fn the_stack_of_a_running_program_is_what_the_kernel_tells() {
        let told = |flags: u32, size| AltStack::told([0x1000, flags.into(), size], true);
        assert!(told(SS_DISABLE, 0).untouched && told(SS_DISABLE, 0).size == 0);
        let (set, disarming) = (told(SS_ONSTACK, 0x800), told(SS_AUTODISARM, 0x800));
        assert_eq!([set.base, set.size], [0x1000, 0x800]);
        assert!(!set.autodisarm && !set.untouched && disarming.autodisarm);
    }

    #[test]
    fn a_stack_that_disarms_itself_is_never_in_use() {
        let stack = AltStack {
            autodisarm: true,
            ..STACK
        };
        assert!(stack.holds(0x1400) && !stack.in_use(0x1400));
        assert_eq!(stack.as_told(0x1400)[1] as u32, SS_AUTODISARM);
    }

    #[test]
    fn a_disabled_stack_is_reported_in_frames_once_it_was_touched() {
        let never = AltStack {
            untouched: true,
            ..AltStack::default()
        };
        assert_eq!(
            [never.as_set()[1], never.as_told(0)[1]],
            [0, u64::from(SS_DISABLE)]
        );
        assert_eq!(AltStack::default().as_set()[1] as u32, SS_DISABLE);
    }
}
