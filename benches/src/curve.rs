//! Cost of a program by the number of its run: ten runs from an empty database.

use crate::Options;
use crate::measure::{Time, geometric_mean, median, run};
use crate::ways::{Job, Way};
use std::path::Path;
use tempfile::TempDir;

/// Runs of each command over one database.
pub const RUNS: usize = 10;

/// Runs each job natively and then [`RUNS`] times from an empty database, in every round, and
/// prints CPU time over native by the number of the run.
pub fn print(options: &Options, jobs: &[Job], dir: &Path) {
    let scratch = TempDir::new().expect("temp folder");
    let [native, ppin] = Way::pair(options, &scratch);
    header();
    let mut ratios = vec![Vec::new(); RUNS];
    for job in jobs.iter().filter(|job| options.wants(&job.name)) {
        let rounds: Vec<_> = (0..options.rounds)
            .map(|_| round(&native, &ppin, job, dir))
            .collect();
        row(&job.name, &rounds, &mut ratios);
    }
    let means = ratios.iter().map(|ratios| geometric_mean(ratios));
    line("geometric mean", "", means);
}

/// A native run, and the runs over a new database.
fn round(native: &Way, ppin: &Way, job: &Job, dir: &Path) -> (Option<Time>, Vec<Option<Time>>) {
    ppin.forget();
    let native = run(native.command(job, dir));
    let runs = (0..RUNS).map(|_| run(ppin.command(job, dir))).collect();
    (native, runs)
}

fn row(name: &str, rounds: &[(Option<Time>, Vec<Option<Time>>)], ratios: &mut [Vec<f64>]) {
    let natives: Vec<_> = rounds.iter().map(|round| round.0).collect();
    let nth = |n: usize| median(&rounds.iter().map(|round| round.1[n]).collect::<Vec<_>>());
    let runs: Option<Vec<Time>> = (0..RUNS).map(nth).collect();
    let (Some(native), Some(runs)) = (median(&natives), runs) else {
        return println!("{name:<16} fails");
    };
    let over: Vec<f64> = runs.iter().map(|run| run.cpu / native.cpu).collect();
    for (ratios, ratio) in ratios.iter_mut().zip(&over) {
        ratios.push(*ratio);
    }
    line(name, &format!("{:.2}", native.cpu * 1e3), over.into_iter());
}

fn header() {
    print!("{:<16} {:>10}", "command", "native ms");
    (1..=RUNS).for_each(|number| print!(" {number:>6}."));
    println!();
}

fn line(name: &str, native: &str, ratios: impl Iterator<Item = f64>) {
    print!("{name:<16} {native:>10}");
    ratios.for_each(|ratio| print!(" {ratio:>6.2}x"));
    println!();
}
