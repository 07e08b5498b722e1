//! What the processor does where its manual says nothing.

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
