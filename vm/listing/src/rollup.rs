//! The text of `/proc/PID/smaps_rollup`: one entry with the sums of all mappings' figures in
//! `smaps` (proc_pid_smaps(5)).

use crate::mappings::{Entry, parse};
use crate::part::is_shared_memory;
use alloc::format;
use alloc::string::{String, ToString};
use ppin_process::ours::Range;

/// The text without the figures of mappings in `hidden`, which `smaps` tells.
#[must_use]
pub(crate) fn native(text: &str, smaps: &[u8], hidden: &[Range]) -> String {
    let entries = parse(smaps).unwrap_or_default();
    let line = |line: &str| {
        let heading = line.trim_end().ends_with("[rollup]");
        let shown = if heading {
            span(line, &entries, hidden)
        } else {
            less(line, &entries, hidden)
        };
        shown.unwrap_or_else(|| line.to_string())
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The span from the first to the last mapping of the program; the kernel's own page beyond the
/// program's memory does not count.
fn span(line: &str, entries: &[Entry], hidden: &[Range]) -> Option<String> {
    let own = |it: &&Entry| !it.lies_in(hidden) && !it.rest.ends_with(b"[vsyscall]");
    let (first, last) = (entries.iter().find(own)?, entries.iter().rev().find(own)?);
    let (_, behind) = line.split_once(' ')?;
    Some(format!("{:08x}-{:08x} {behind}", first.start, last.end))
}

/// A figure without the part of hidden mappings.
fn less(line: &str, entries: &[Entry], hidden: &[Range]) -> Option<String> {
    let (name, value) = line.trim_end().split_once(':')?;
    let kb: u64 = value.strip_suffix(" kB")?.trim().parse().ok()?;
    let part = |entry: &Entry| part(entry, name);
    let ours: u64 = entries
        .iter()
        .filter(|it| it.lies_in(hidden))
        .map(part)
        .sum();
    let width = line.trim_end().len() - name.len() - ": kB".len();
    Some(format!("{name}:{:width$} kB\n", kb.saturating_sub(ours)))
}

/// The part of `entry` in the figure `name`. Three figures (`Pss` by kind) are not in `smaps`.
fn part(entry: &Entry, name: &str) -> u64 {
    let pss = entry.figure(b"Pss:");
    let anonymous = pss.min(entry.figure(b"Anonymous:"));
    let shared = is_shared_memory(entry.path());
    match name {
        "Pss_Anon" => anonymous,
        "Pss_File" if !shared => pss - anonymous,
        "Pss_Shmem" if shared => pss - anonymous,
        "Pss_File" | "Pss_Shmem" => 0,
        _ => entry.figure(format!("{name}:").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::native;

    #[test]
    fn sums_and_the_span_lose_our_part() {
        let smaps = b"\
00001000-00003000 r-xp 00000000 00:00 0 
Rss:                   8 kB
Pss:                   8 kB
Anonymous:             8 kB
00400000-00402000 r-xp 00000000 fe:00 12     /bin/a
Rss:                   8 kB
Pss:                   2 kB
Anonymous:             0 kB
00500000-00502000 r-xp 00000000 fe:00 13     /unit
Rss:                   4 kB
Pss:                   4 kB
Anonymous:             0 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Rss:                   0 kB
";
        let text = "\
00001000-00502000 ---p 00000000 00:00 0                          [rollup]
Rss:                  20 kB
Pss:                  14 kB
Pss_Anon:              8 kB
Pss_File:              6 kB
Pss_Shmem:             0 kB
";
        let expected = "\
00400000-00402000 ---p 00000000 00:00 0                          [rollup]
Rss:                   8 kB
Pss:                   2 kB
Pss_Anon:              0 kB
Pss_File:              2 kB
Pss_Shmem:             0 kB
";
        let hidden = [(0x1000, 0x3000), (0x50_0000, 0x60_0000)];
        assert_eq!(native(text, smaps, &hidden), expected);
        assert_eq!(native(text, smaps, &[]), text);
    }
}
