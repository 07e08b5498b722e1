//! All that given places lead to.

use crate::target::Target;
use crate::translate::Translator;
use crate::workers::Workers;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ppin_relocator::Fragment;

/// The fragments at `roots` and at all that they lead to by direct branches, calls and returns
/// from calls, `most` at most: those with the fewest traces between a root and them, in order
/// of places for each distance. What lies outside the image's code is left out.
#[must_use]
pub fn walk(
    translator: &Translator<'_>,
    roots: impl IntoIterator<Item = Target>,
    most: usize,
    workers: &impl Workers,
) -> Vec<Fragment> {
    let mut wave: BTreeSet<Target> = roots.into_iter().collect();
    let mut seen = wave.clone();
    let mut all = Vec::new();
    while !wave.is_empty() && all.len() < most {
        let targets: Vec<Target> = wave.into_iter().take(most - all.len()).collect();
        let made = workers.map(&targets, |target| translator.fragment(*target));
        let first = all.len();
        all.extend(made.into_iter().flatten());
        let next = all[first..].iter().flat_map(Target::successors);
        wave = next.filter(|target| seen.insert(*target)).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Image;
    use crate::image::tests::{AT, file};
    use crate::workers::{Alone, Threads};
    use ppin_abi::addr::{ImageBase, ImageOff};
    use ppin_abi::context::Context;
    use ppin_abi::optimize::Optimize;
    use proptest::prelude::*;

    const BASE: ImageBase = ImageBase(0x5555_5555_4000);

    fn target(off: usize) -> Target {
        Target {
            off: ImageOff(off as i32),
            context: Context::CANONICAL,
        }
    }

    fn walked(file: &[u8], tool: &str, root: Target, most: usize) -> Vec<Fragment> {
        let image = Image::new(file, BASE);
        let tool = ppin_tools::by_name(tool).unwrap();
        walk(
            &Translator::new(&image, &*tool, Optimize::ALL),
            [root],
            most,
            &Alone,
        )
    }

    fn heads(fragments: &[Fragment]) -> Vec<usize> {
        let heads = fragments.iter();
        heads.map(|code| code.head.0 as usize - AT).collect()
    }

    #[test]
    fn branches_and_calls_are_followed() {
        let code = [
            0x74, 4, // 0: je 6
            0xe8, 3, 0, 0, 0,    // 2: call 10; 6 is inside
            0xc3, // 7: ret, behind the call in its trace
            0x90, 0x90, // 8
            0xeb, 0xf4, // 10: jmp 0
        ];
        let file = file(&code);
        let found = walked(&file, "null", target(AT), 100);
        let mut places = heads(&found);
        places.sort_unstable();
        assert_eq!(places, [0, 6, 10]);
        assert_eq!(heads(&walked(&file, "null", target(AT), 1)), [0]);
    }

    #[test]
    fn what_lies_outside_the_code_is_left_out() {
        // jmp -0x100; in front of the segment. Then one to what lies behind it.
        let found = walked(&file(&[0xe9, 0, 0xff, 0xff, 0xff]), "null", target(AT), 9);
        assert_eq!(heads(&found), [0]);
        let found = walked(&file(&[0xeb, 0x7f]), "null", target(AT), 9);
        assert_eq!(heads(&found), [0]);
        assert_eq!(walked(&file(&[0x90]), "null", target(0), 9), []);
    }

    /// A real program: this test itself.
    #[test]
    fn threads_find_what_one_finds_and_the_walk_is_one_of_real_code() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let image = Image::new(&file, BASE);
        let tool = ppin_tools::by_name("bbcount").unwrap();
        let translator = Translator::new(&image, &*tool, Optimize::ALL);
        let segments = ppin_persist::Segments::of_file(&file).unwrap();
        let entry = u64::from_le_bytes(file[24..32].try_into().unwrap());
        let first = segments.address(0);
        let root = target(entry.wrapping_sub(first) as usize);
        let alone = walk(&translator, [root], 3000, &Alone);
        let threads = walk(&translator, [root], 3000, &Threads::all());
        assert!(alone.len() > 10, "{}", alone.len());
        assert!(alone == threads);
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_the_walk_ends_inside_the_code(
            code in proptest::collection::vec(any::<u8>(), 1..400),
            tool in proptest::sample::select(vec!["null", "bbcount", "icount", "memtrace"]),
            start in 0_usize..400,
        ) {
            let found = walked(&file(&code), tool, target(AT + start), 200);
            prop_assert!(found.len() <= 200);
            for fragment in &found {
                let start = fragment.head.0 as usize;
                let end = start + fragment.source_len as usize;
                prop_assert!(AT <= start && end <= AT + code.len());
            }
        }

        #[test]
        fn whatever_the_file_the_walk_ends(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            headers in any::<[u64; 5]>(),
            start in any::<i32>(),
        ) {
            // A head that is believed, with arbitrary segments and bytes.
            let mut file = file(&bytes);
            for (n, word) in headers.into_iter().skip(1).enumerate() {
                let small = if headers[0] & 1 << n == 0 { word % 0x2000 } else { word };
                file[72 + 8 * n..80 + 8 * n].copy_from_slice(&small.to_le_bytes());
            }
            let root = Target { off: ImageOff(start), context: Context::CANONICAL };
            let roots = [root, target(start.unsigned_abs() as usize % file.len())];
            let image = Image::new(&file, BASE);
            let tool = ppin_tools::by_name("null").unwrap();
            let found = walk(&Translator::new(&image, &*tool, Optimize::ALL), roots, 50, &Alone);
            prop_assert!(found.iter().all(|code| image.code_from(code.head).is_some()));
        }
    }
}
