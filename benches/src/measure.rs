//! One measured run, and medians over several.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Seconds of one run, or medians over several.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Time {
    /// User and system time of the command and its descendants.
    pub cpu: f64,
    /// Elapsed time.
    pub wall: f64,
}

/// Runs a command once and discards its output. `None`: it has failed.
pub fn run(mut command: Command) -> Option<Time> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (before, start) = (children_cpu(), Instant::now());
    let status = command.status().ok()?;
    let wall = start.elapsed().as_secs_f64();
    status.success().then(|| Time {
        cpu: children_cpu() - before,
        wall,
    })
}

fn children_cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("getrusage");
    let total = usage.user_time() + usage.system_time();
    f64::from(i32::try_from(total.num_microseconds() % 1_000_000_000).unwrap_or(0)) / 1e6
        + (total.num_microseconds() / 1_000_000_000) as f64 * 1e3
}

/// Medians of CPU and of wall time, each by itself; `None` if any run failed.
#[must_use]
pub fn median(runs: &[Option<Time>]) -> Option<Time> {
    let all: Vec<Time> = runs.iter().copied().collect::<Option<_>>()?;
    let middle = |field: fn(&Time) -> f64| {
        let mut values: Vec<f64> = all.iter().map(field).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    Some(Time {
        cpu: middle(|time| time.cpu)?,
        wall: middle(|time| time.wall)?,
    })
}

/// Geometric mean.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means() {
        let time = |cpu| Some(Time { cpu, wall: 1.0 });
        assert_eq!(median(&[time(3.0), time(1.0), time(2.0)]).unwrap().cpu, 2.0);
        assert_eq!(median(&[time(3.0), None]), None);
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn cpu_time_of_children_is_seen() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"]);
        let time = run(command).expect("the shell runs");
        assert!(time.cpu > 0.001 && time.wall > 0.0, "{time:?}");
    }
}
