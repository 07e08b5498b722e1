//! The text of `/proc/PID/limits`, with the memory limits that the app believes in
//! (proc_pid_limits(5)).

use alloc::format;
use alloc::string::{String, ToString};

/// Name, soft limit and hard limit.
pub(crate) type Limit = (&'static str, [u64; 2]);

/// The text with `limits` in place of the kernel's values.
#[must_use]
pub(crate) fn native(text: &str, limits: &[Limit]) -> String {
    let line = |line: &str| {
        let named = limits.iter().find(|(name, _)| line.starts_with(name));
        named.map_or_else(|| line.to_string(), |limit| replaced(line, limit))
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The line with the limits replaced. Name, limits and unit stand in columns.
fn replaced(line: &str, (name, limits): &Limit) -> String {
    const LIMITS: core::ops::Range<usize> = 26..68;
    let [soft, hard] = limits.map(|limit| match limit {
        u64::MAX => "unlimited".to_string(),
        limit => limit.to_string(),
    });
    let unit = line.get(LIMITS.end..).unwrap_or("\n");
    format!("{name:25} {soft:20} {hard:20} {unit}")
}

#[cfg(test)]
mod tests {
    use super::native;

    #[test]
    fn only_what_is_named_is_replaced() {
        let text = "\
Limit                     Soft Limit           Hard Limit           Units     
Max data size             73400320             unlimited            bytes     
Max open files            1024                 1048576              files     
";
        let expected = "\
Limit                     Soft Limit           Hard Limit           Units     
Max data size             4096                 unlimited            bytes     
Max open files            1024                 1048576              files     
";
        assert_eq!(
            native(text, &[("Max data size", [4096, u64::MAX])]),
            expected
        );
    }
}
