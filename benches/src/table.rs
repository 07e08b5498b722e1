//! Measures jobs in all ways and prints one line for each.

use crate::Options;
use crate::measure::{Time, geometric_mean, median, run};
use crate::ways::{self, Job, Way};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Runs everything and prints the table: native time in milliseconds, then for each
/// way its CPU time over native, and its wall time over native beside it.
pub fn print(options: &Options, jobs: &[Job], dir: &Path) {
    let scratch = TempDir::new().expect("temp folder");
    let ways = ways::all(options, &scratch);
    header(&ways);
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); ways.len() - 1];
    for job in jobs.iter().filter(|job| options.wants(&job.name)) {
        let times = measure(options, &ways, job, dir);
        row(&job.name, &times, &mut ratios);
    }
    footer(&ratios);
}

fn measure(options: &Options, ways: &[Way], job: &Job, dir: &Path) -> Vec<Option<Time>> {
    ways.iter().for_each(|way| way.train(job, dir));
    let mut runs: Vec<Vec<Option<Time>>> = vec![Vec::new(); ways.len()];
    for _ in 0..options.rounds {
        for (way, runs) in ways.iter().zip(&mut runs) {
            runs.push(run(way.command(job, dir)));
        }
    }
    runs.iter().map(|runs| median(runs)).collect()
}

fn header(ways: &[Way]) {
    print!("{:<16} {:>10}", "command", "native ms");
    for way in &ways[1..] {
        print!(" {:>10} {:>7}", way.name, "(wall)");
    }
    println!();
}

fn row(name: &str, times: &[Option<Time>], ratios: &mut [Vec<f64>]) {
    let Some(native) = times[0] else {
        return println!("{name:<16} fails natively");
    };
    print!("{name:<16} {:>10.2}", native.cpu * 1e3);
    for (time, ratios) in times[1..].iter().zip(ratios) {
        match time {
            Some(time) => {
                ratios.push(time.cpu / native.cpu);
                print!(
                    " {:>9.2}x {:>6.2}x",
                    time.cpu / native.cpu,
                    time.wall / native.wall
                );
            }
            None => print!(" {:>10} {:>7}", "fails", ""),
        }
    }
    println!();
    let _ = std::io::stdout().flush();
}

fn footer(ratios: &[Vec<f64>]) {
    print!("{:<16} {:>10}", "geometric mean", "");
    for ratios in ratios {
        print!(" {:>9.2}x {:>7}", geometric_mean(ratios), "");
    }
    println!();
}
