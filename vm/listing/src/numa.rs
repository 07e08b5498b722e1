//! The text of `/proc/PID/numa_maps`: a line for each mapping with its start, its policy and words,
//! some of them counts (numa_maps, proc(5)).

use crate::mappings::parse;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The lines of the mappings in `maps`, the list as the program sees it. Mappings that the VM's
/// guards have split become one line with sums.
#[must_use]
pub(crate) fn native(text: &str, maps: &[u8]) -> String {
    let shown = parse(maps).unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(start) = start(line) else {
            return text.to_string();
        };
        let Some(entry) = shown.iter().find(|it| (it.start..it.end).contains(&start)) else {
            continue;
        };
        match lines.last_mut() {
            Some(last) if entry.start != start => *last = sum(last, line),
            _ => lines.push(line.to_string()),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn start(line: &str) -> Option<u64> {
    u64::from_str_radix(line.split(' ').next()?, 16).ok()
}

/// Adds the counts of `next` to those of `line`; other words stay those of `line`.
fn sum(line: &str, next: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_string).collect();
    for word in next.split(' ') {
        let Some((name, more)) = count(word) else {
            continue;
        };
        let known = words.iter_mut().find_map(|it| {
            let (known, number) = count(it)?;
            (known == name).then_some((number, it))
        });
        match known {
            Some((number, it)) => *it = format!("{name}={}", number + more),
            // The page size stays the last word.
            None => words.insert(words.len() - 1, word.to_string()),
        }
    }
    words.join(" ")
}

/// The name and number of a word that is a count.
fn count(word: &str) -> Option<(String, u64)> {
    let (name, number) = word.split_once('=')?;
    let adds = !["kernelpagesize_kB", "mapmax", "file"].contains(&name);
    Some((name.to_string(), number.parse().ok().filter(|_| adds)?))
}

#[cfg(test)]
mod tests {
    use super::native;

    #[test]
    fn hidden_mappings_are_left_out_and_pieces_added() {
        let maps = b"\
00400000-00401000 r-xp 00000000 fe:00 12     /bin/a
7f0000000000-7f0000004000 rwxp 00000000 00:00 0 
";
        let text = "\
00400000 default file=/bin/a mapped=2 N0=2 kernelpagesize_kB=4
550000000000 default anon=1 dirty=1 N0=1 kernelpagesize_kB=4
7f0000000000 default anon=1 dirty=1 N0=1 kernelpagesize_kB=4
7f0000001000 default anon=2 dirty=1 active=1 N0=2 kernelpagesize_kB=4
";
        let expected = "\
00400000 default file=/bin/a mapped=2 N0=2 kernelpagesize_kB=4
7f0000000000 default anon=3 dirty=2 N0=3 active=1 kernelpagesize_kB=4
";
        assert_eq!(native(text, maps), expected);
        assert_eq!(native("no list", maps), "no list");
    }
}
