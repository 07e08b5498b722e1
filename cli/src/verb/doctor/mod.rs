//! `ppin doctor`: what this environment lets ppin do, one line for each thing, and
//! what ppin does where it cannot.

mod database;
mod finding;
mod kernel;
mod process;

use crate::database::path_of;
use crate::failure::{Failure, NO, YES};
use crate::options::Format;
use clap::Args;
use finding::Finding;
use ppin_sdk::table::{Align, Table};
use serde_json::json;
use std::path::PathBuf;

/// `ppin doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 all can be done, 1 something cannot, 2 wrong use.")]
pub struct Doctor {
    /// Database directory [default: $PPIN_DB, else $XDG_CACHE_HOME/ppin, else ~/.cache/ppin]
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Format of the findings
    #[arg(long, default_value = "human")]
    pub format: Format,
}

/// Looks at everything.
pub fn doctor(args: &Doctor) -> Result<u8, Failure> {
    let path = path_of(args.db.as_deref())?;
    let mut findings = vec![
        process::proc_mounted(),
        process::traced(),
        kernel::yama(),
        process::seccomp(),
        process::memory_deny_write_execute(),
        process::address_space(),
        process::pid_namespace(),
        kernel::shadow_stacks(),
        process::launch(),
    ];
    findings.extend(database::database(&path));
    match args.format {
        Format::Human => print!("{}", human(&findings)),
        Format::Json => {
            for finding in &findings {
                let Finding { what, good, text } = finding;
                println!("{}", json!({ "what": what, "good": good, "text": text }));
            }
        }
    }
    Ok(if findings.iter().all(|finding| finding.good) {
        YES
    } else {
        NO
    })
}

fn human(findings: &[Finding]) -> String {
    let mut table = Table::new([Align::Left, Align::Left, Align::Left]);
    for finding in findings {
        let verdict = if finding.good { "ok" } else { "NO" };
        table.row([
            verdict.to_owned(),
            finding.what.to_owned(),
            finding.text.clone(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_aligned() {
        let findings = [Finding::good("a", "fine"), Finding::bad("long", "not fine")];
        assert_eq!(human(&findings), "  ok  a     fine\n  NO  long  not fine\n");
    }
}
