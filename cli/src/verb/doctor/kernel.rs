//! Settings of the kernel.

use super::finding::Finding;
use std::fs;

/// Whether a process may be traced by its own child for a moment.
pub fn yama() -> Finding {
    yama_level(
        fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
            .ok()
            .as_deref(),
    )
}

fn yama_level(scope: Option<&str>) -> Finding {
    const WHAT: &str = "yama";
    match scope.map(str::trim) {
        None => Finding::good(WHAT, "not in this kernel"),
        Some("0") => Finding::good(WHAT, "level 0: processes of one user may trace each other"),
        Some("1") => Finding::good(
            WHAT,
            "level 1: ppin lets its helper trace it (PR_SET_PTRACER)",
        ),
        Some("2") => Finding::bad(WHAT, "level 2: only root can start programs under ppin"),
        Some(level) => Finding::bad(
            WHAT,
            format!("level {level}: no program can be started under ppin"),
        ),
    }
}

/// User shadow stacks do not fit translated returns.
pub fn shadow_stacks() -> Finding {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let there = flags.lines().find(|line| line.starts_with("flags"));
    let there = there.is_some_and(|line| line.split_whitespace().any(|flag| flag == "user_shstk"));
    let text = if there {
        "supported here; switched off for programs under ppin, whose returns do not match them"
    } else {
        "not in use here"
    };
    Finding::good("shadow stacks", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_two_and_three_are_too_strict() {
        assert!(
            yama_level(None).good && yama_level(Some("0\n")).good && yama_level(Some("1\n")).good
        );
        assert!(!yama_level(Some("2\n")).good && !yama_level(Some("3\n")).good);
    }
}
