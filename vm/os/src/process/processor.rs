//! What the processor does where its manual says nothing, and how fast it does what.

/// AF in `ah`, as `lahf` and `sahf` have it.
const AF: u32 = 1 << 12;

/// AF behind a logic instruction on `$operand`, with AF `$before` it.
macro_rules! af_behind {
    ($instruction:literal, $operand:expr, $before:expr) => {{
        let (mut flags, mut value): (u32, u64) = ($before, $operand);
        // SAFETY: changes two registers and the arithmetic flags.
        unsafe {
            core::arch::asm!(
                "sahf",
                concat!($instruction, " {value}, {value}"),
                "lahf",
                value = inout(reg) value,
                inout("eax") flags,
                options(nomem, nostack),
            );
        }
        core::hint::black_box(value);
        flags & AF
    }};
}

/// Whether `and`, `or`, `xor` and `test`, which leave AF undefined, write it like the other
/// flags: what it was before makes no difference. No processor is known that does not.
#[must_use]
pub fn logic_writes_af() -> bool {
    const OPERANDS: [u64; 4] = [0, 1, 0x10, u64::MAX];
    OPERANDS.iter().all(|operand| {
        let behind = |before| {
            [
                af_behind!("and", *operand, before),
                af_behind!("or", *operand, before),
                af_behind!("xor", *operand, before),
                af_behind!("test", *operand, before),
            ]
        };
        behind(0) == behind(AF)
    })
}

/// Whether `loop` takes no longer than another branch, by what `cpuid` says of the processor's version
/// (leaf 1, eax): AMD's since Zen, and Hygon's. Intel's take some six times as long.
#[must_use]
pub const fn loops_fast(version: u32) -> bool {
    /// Family 0xf is extended (APM volume 3, appendix E.3.2); Zen is family 0x17.
    const EXTENDED: u32 = 0xf;
    const SINCE_ZEN: u32 = 0x17 - EXTENDED;
    version >> 8 & 0xf == EXTENDED && version >> 20 & 0xff >= SINCE_ZEN
}

/// Whether there are `rorx` and `shrx` (BMI2), by the features that leaf 1 of `cpuid` tells in ecx: all processors that have
/// FMA and `movbe` have it, too, Intel's since Haswell and AMD's since Excavator. The leaf that says so is not
/// asked, which takes microseconds in a virtual machine; who meets an exception gets an invalid opcode.
#[must_use]
pub const fn likely_shifts(features: u32) -> bool {
    const FMA: u32 = 1 << 12;
    const MOVBE: u32 = 1 << 22;
    features & (FMA | MOVBE) == FMA | MOVBE
}

/// Selector of the segment whose limit says which processor a thread runs on: the kernel's
/// `GDT_ENTRY_CPUNODE`, with privilege 3. getcpu(2) of the vdso reads it likewise.
pub const CPUNODE: u32 = 15 * 8 + 3;

/// A number of the processor on which the thread runs; `None` if the kernel does not tell.
#[must_use]
pub fn current() -> Option<u32> {
    let (number, known): (u32, u8);
    // SAFETY: reads the limit of a segment, if there is one; changes two registers and ZF.
    unsafe {
        core::arch::asm!(
            "lsl {number:e}, {segment:e}",
            "setz {known}",
            number = out(reg) number,
            segment = in(reg) CPUNODE,
            known = out(reg_byte) known,
            options(nomem, nostack),
        );
    }
    (known != 0).then_some(number)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn the_processor_is_the_one_that_the_kernel_tells() {
        // proc_pid_stat(5): field 39, the third being the first behind the name.
        let told = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("proc");
            let (_, fields) = stat.rsplit_once(')').expect("a name");
            let processor = fields.split_whitespace().nth(39 - 3);
            processor.and_then(|field| field.parse().ok())
        };
        // (The thread may be moved in between, but not each time.)
        let alike = (0..1000).any(|_| {
            let before: Option<u32> = told();
            let found = current().map(|number| number & 0xfff);
            before.is_some() && (before, told()) == (found, found)
        });
        assert!(alike);
    }

    #[test]
    fn what_is_taken_for_granted_is_there() {
        // Leaf 1 and leaf 7, which every processor with FMA has.
        let features = core::arch::x86_64::__cpuid(1).ecx;
        if likely_shifts(features) {
            let more = core::arch::x86_64::__cpuid_count(7, 0).ebx;
            assert_ne!(more & 1 << 8, 0, "BMI2");
        }
        // Ivy Bridge, Piledriver.
        assert!(![0x7fba_e3ff, 0x3e98_320b].into_iter().any(likely_shifts));
    }

    #[test]
    fn versions_are_told_apart() {
        // Naples, Genoa, Turin, Hygon's Dhyana.
        let fast = [0x0080_0f12, 0x00a1_0f11, 0x00b0_0f21, 0x0090_0f01];
        assert!(fast.into_iter().all(loops_fast));
        // Sapphire Rapids, Haswell, Pentium 4, K8, Bulldozer.
        let slow = [
            0x0008_06f8,
            0x0003_06c3,
            0x0000_0f41,
            0x0000_0f5a,
            0x0060_0f12,
        ];
        assert!(!slow.into_iter().any(loops_fast));
    }
}
