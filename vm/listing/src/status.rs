//! The text of `/proc/PID/status`, `stat` and `statm` as it would be natively (proc_pid_status(5),
//! proc_pid_stat(5), proc_pid_statm(5)).

use crate::sizes::Sizes;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_os::mem::PAGE;
use ppin_os::signals::SigSet;

/// Signal sets as the app knows them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signals {
    /// Signals that the thread blocks.
    pub blocked: SigSet,
    /// Signals that the process ignores.
    pub ignored: SigSet,
    /// Signals for which the process has a handler.
    pub caught: SigSet,
    /// Signals of which the kernel knows better whether they are ignored.
    pub unasked: SigSet,
    /// Signals that the VM holds for the thread, which the kernel does not show as pending.
    pub held: SigSet,
    /// Signals that the VM holds for the process.
    pub held_for_all: SigSet,
}

impl Signals {
    /// The signals that the app ignores, where the kernel shows `shown`.
    fn ignored(&self, shown: SigSet) -> SigSet {
        self.ignored | shown & self.unasked
    }
}

/// `/proc/PID/status`: a key, a tab and a value in each line.
#[must_use]
pub(crate) fn status(text: &str, signals: Option<&Signals>, ours: &Sizes) -> String {
    let line = |line: &str| {
        let Some((key, value)) = line.trim_end().split_once(":\t") else {
            return line.to_string();
        };
        let shown =
            size(key, value, ours).or_else(|| signals.and_then(|signals| set(key, value, signals)));
        shown.map_or_else(|| line.to_string(), |value| format!("{key}:\t{value}\n"))
    };
    text.split_inclusive('\n').map(line).collect()
}

fn size(key: &str, value: &str, ours: &Sizes) -> Option<String> {
    let less = match key {
        "VmPeak" | "VmSize" => ours.total,
        "VmHWM" | "VmRSS" => ours.resident(),
        "RssAnon" => ours.anonymous,
        "RssFile" => ours.file,
        "RssShmem" => ours.shared,
        "VmData" => ours.data,
        "VmLib" => ours.code,
        _ => return None,
    };
    let kb = value.strip_suffix(" kB")?.trim().parse::<i64>().ok()?;
    Some(format!("{:8} kB", (kb - less).max(0)))
}

fn set(key: &str, value: &str, signals: &Signals) -> Option<String> {
    let kernels = SigSet::from_str_radix(value, 16).ok()?;
    let shown = match key {
        "SigPnd" => kernels | signals.held,
        "ShdPnd" => kernels | signals.held_for_all,
        "SigBlk" => signals.blocked,
        "SigIgn" => signals.ignored(kernels),
        "SigCgt" => signals.caught,
        _ => return None,
    };
    Some(format!("{shown:016x}"))
}

/// `/proc/PID/stat`: fields after the name, which is in parentheses and may hold any character.
#[must_use]
pub(crate) fn stat(text: &str, signals: Option<&Signals>, ours: &Sizes) -> String {
    const STATE: usize = 3;
    let Some((name, rest)) = text.rsplit_once(") ") else {
        return text.to_string();
    };
    let field = |(n, value): (usize, &str)| {
        field(n + STATE, value, signals, ours).unwrap_or_else(|| value.to_string())
    };
    let fields: Vec<_> = rest.split(' ').enumerate().map(field).collect();
    format!("{name}) {}", fields.join(" "))
}

/// Field `n`, as proc_pid_stat(5) counts.
fn field(n: usize, value: &str, signals: Option<&Signals>, ours: &Sizes) -> Option<String> {
    /// The signals that these fields show.
    const CLASSIC: SigSet = (1 << 31) - 1;
    let number: i64 = value.parse().ok()?;
    match n {
        23 => return Some((number - (ours.total << 10)).max(0).to_string()),
        24 => return Some((number - pages(ours.resident())).max(0).to_string()),
        _ => {}
    }
    let set = match n {
        31 => signals?.held | number as SigSet,
        32 => signals?.blocked,
        33 => signals?.ignored(number as SigSet),
        34 => signals?.caught,
        _ => return None,
    };
    Some((set & CLASSIC).to_string())
}

fn pages(kb: i64) -> i64 {
    kb / (PAGE as i64 >> 10)
}

/// `/proc/PID/statm`, in pages: total, resident, shared part of that, code, 0, data with stack, 0.
#[must_use]
pub(crate) fn statm(text: &str, ours: &Sizes) -> String {
    let (file, data) = (ours.file + ours.shared, ours.data);
    let less = [ours.total, ours.resident(), file, 0, 0, data, 0].map(pages);
    let field = |(value, less): (&str, i64)| {
        let number = value.parse::<i64>();
        number.map_or_else(
            |_| value.to_string(),
            |number| (number - less).max(0).to_string(),
        )
    };
    let fields: Vec<_> = text.trim_end().split(' ').zip(less).map(field).collect();
    fields.join(" ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::{Signals, Sizes, stat, statm, status};
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    const OURS: Sizes = Sizes {
        total: 4000,
        data: 400,
        code: 40,
        anonymous: 80,
        file: 12,
        shared: 8,
    };
    const SIGNALS: Signals = Signals {
        blocked: 0x1_0000_0400,
        ignored: 0x1000,
        caught: 0x4002,
        unasked: 0x30,
        held: 0x10,
        held_for_all: 0x400,
    };

    #[test]
    fn sizes_lose_our_part_and_sets_are_the_apps() {
        let text = "Name:\ta\tb\nVmPeak:\t    5000 kB\nVmExe:\t     144 kB\nRssFile:\t       4 kB\n\
                    SigPnd:\t0000000000000001\nSigIgn:\t0000000000000411\nSigCgt:\tfffffffff780feff\nThreads:\t1\n";
        let expected = "Name:\ta\tb\nVmPeak:\t    1000 kB\nVmExe:\t     144 kB\nRssFile:\t       0 kB\n\
                        SigPnd:\t0000000000000011\nSigIgn:\t0000000000001010\nSigCgt:\t0000000000004002\nThreads:\t1\n";
        assert_eq!(status(text, Some(&SIGNALS), &OURS), expected);
        assert!(status(text, None, &OURS).contains("SigPnd:\t0000000000000001"));
    }

    #[test]
    fn fields_are_counted_behind_the_name() {
        let fields: Vec<_> = (4..=52i64).map(|n| (n * 1_000_000).to_string()).collect();
        let text = format!("7 (a) b) R {}\n", fields.join(" "));
        let shown = stat(&text, Some(&SIGNALS), &OURS);
        let field = |n: usize| shown.split(' ').nth(n).unwrap();
        assert!(shown.starts_with("7 (a) b) R 4000000 "));
        assert_eq!(field(23), (23_000_000i64 - 4_096_000).to_string());
        assert_eq!(field(24), (24_000_000i64 - 25).to_string());
        assert_eq!([32, 33, 34].map(field), ["1024", "4096", "16386"]);
        assert!(shown.ends_with(" 52000000\n"));
        assert_eq!(stat("none", None, &OURS), "none");
    }

    #[test]
    fn statm_counts_pages() {
        assert_eq!(
            statm("2000 500 300 36 0 200 0\n", &OURS),
            "1000 475 295 36 0 100 0\n"
        );
    }
}
