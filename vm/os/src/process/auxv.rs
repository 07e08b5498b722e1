//! The auxiliary vector (getauxval(3)), which the kernel passes to a new program on its first
//! stack: `argc, argv.., 0, envp.., 0, (kind, value).., 0`.

use crate::peek;
use linux_raw_sys::auxvec;

const AT_NULL: u64 = auxvec::AT_NULL as u64;
const AT_ENTRY: u64 = auxvec::AT_ENTRY as u64;
const AT_HWCAP2: u64 = auxvec::AT_HWCAP2 as u64;
/// Bit of `AT_HWCAP2`: user code may use `rdgsbase` and `wrgsbase`.
const FSGSBASE: u64 = 2;

/// Whether the instructions for segment bases may be used; `stack` is the stack
/// pointer at the program's first instruction.
#[must_use]
pub fn has_segment_bases(stack: u64) -> bool {
    value(stack, AT_HWCAP2).is_some_and(|bits| bits & FSGSBASE != 0)
}

/// Where the program itself begins, its interpreter aside; `stack` as above.
#[must_use]
pub fn entry(stack: u64) -> Option<u64> {
    value(stack, AT_ENTRY)
}

fn value(stack: u64, kind: u64) -> Option<u64> {
    let words = || (0..).map_while(|n| peek::read_value::<u64>(stack + 8 * n));
    let arguments = words().next()? as usize;
    let pairs = words()
        .skip(1 + arguments + 1)
        .skip_while(|word| *word != 0)
        .skip(1);
    let mut pairs = pairs.into_iter();
    loop {
        let (found, value) = (pairs.next()?, pairs.next()?);
        if found == AT_NULL || found == kind {
            return (found == kind).then_some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn values_are_found_behind_the_environment() {
        let stack = [2u64, 1, 2, 0, 3, 4, 5, 0, 6, 60, 26, 61, 0, 0];
        let at = stack.as_ptr() as u64;
        assert_eq!(value(at, 26), Some(61));
        assert_eq!(value(at, 6), Some(60));
        assert_eq!(value(at, 7), None);
    }
}
