//! The auxiliary vector (getauxval(3)), which the kernel passes to a new program on its first
//! stack: `argc, argv.., 0, envp.., 0, (kind, value).., 0`.

use crate::peek;
use linux_raw_sys::auxvec;

/// Address of the program headers of the program.
pub const AT_PHDR: u64 = auxvec::AT_PHDR as u64;
/// Number of them.
pub const AT_PHNUM: u64 = auxvec::AT_PHNUM as u64;
/// Where the interpreter lies; 0: there is none.
pub const AT_BASE: u64 = auxvec::AT_BASE as u64;
/// Where the vdso lies.
pub const AT_SYSINFO_EHDR: u64 = auxvec::AT_SYSINFO_EHDR as u64;
/// Address of the path that was executed, as it was given to the kernel.
pub const AT_EXECFN: u64 = auxvec::AT_EXECFN as u64;

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
    let [found] = values(stack, [kind]);
    found
}

/// The values of `kinds`, in their order; `stack` as above.
#[must_use]
pub fn values<const N: usize>(stack: u64, kinds: [u64; N]) -> [Option<u64>; N] {
    let mut values = [None; N];
    for (found, value) in pairs(stack) {
        if let Some(at) = kinds.iter().position(|kind| *kind == found) {
            values[at] = Some(value);
        }
    }
    values
}

fn pairs(stack: u64) -> impl Iterator<Item = (u64, u64)> {
    let word = move |n: u64| peek::read_value::<u64>(stack + 8 * n);
    let environment = word(0).map_or(u64::MAX / 8, |arguments| arguments.wrapping_add(2));
    let mut words = (environment..u64::MAX / 8)
        .map_while(word)
        .skip_while(|word| *word != 0)
        .skip(1);
    let pairs = core::iter::from_fn(move || Some((words.next()?, words.next()?)));
    pairs.take_while(|(kind, _)| *kind != AT_NULL)
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
