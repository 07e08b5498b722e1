//! Differential truth: the same command natively, under ppin with an empty database,
//! and under ppin with the database which that run left behind. All that a caller
//! can see must be equal.

use crate::build::{Guest, guests_in};
use crate::command::{Cmd, Ended, Outcome};
use crate::ppin::Ppin;
use crate::skip;
use crate::spec::{End, Run};
use nix::sys::personality::{self, Persona};
use nix::sys::signal::Signal;
use std::env;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use tempfile::TempDir;

/// Builds a guest and holds each of its calls to the header's word and to the
/// three-way comparison.
pub fn check_guest(path: &str, variant: &str) {
    let guest = Guest::load(path);
    if !skip::cpu_has(&guest.spec.needs) {
        return skip::skipped(
            path,
            &format!("this CPU lacks one of {:?}", guest.spec.needs),
        );
    }
    if let (Some(reason), None) = (&guest.spec.pending, env::var_os("PPIN_TEST_PENDING")) {
        return skip::skipped(path, reason);
    }
    let Some(exe) = guest.build(variant) else {
        return;
    };
    for run in &guest.spec.runs {
        let cmd = Cmd::new(&exe)
            .args(&run.args)
            .timeout(Duration::from_secs(guest.spec.timeout));
        let native = three_ways(&cmd);
        assert_eq!(
            native.ended,
            expected(run),
            "natively: {}\n{native:?}",
            cmd.shell()
        );
    }
}

/// Does something with each call of the guests in `folder` that this CPU can run, built as their first variant.
pub fn each_call_in(folder: &str, mut work: impl FnMut(&Cmd)) {
    let first = |guest: &Guest| guest.spec.variants.first().cloned();
    each_call(folder, first, |_, cmd| work(cmd));
}

/// The same of those that can be built as `variant`; the executable comes along.
pub fn each_call_as(variant: &str, folder: &str, work: impl FnMut(&Path, &Cmd)) {
    let asked = |guest: &Guest| {
        let mut all = guest.spec.variants.iter();
        all.find(|it| *it == variant).cloned()
    };
    each_call(folder, asked, work);
}

fn each_call(
    folder: &str,
    variant: impl Fn(&Guest) -> Option<String>,
    mut work: impl FnMut(&Path, &Cmd),
) {
    let guests = guests_in(folder).into_iter().map(|path| Guest::load(&path));
    for guest in guests.filter(|guest| skip::cpu_has(&guest.spec.needs)) {
        let Some(exe) = variant(&guest).and_then(|it| guest.build(&it)) else {
            continue;
        };
        for run in &guest.spec.runs {
            work(&exe, &Cmd::new(&exe).args(&run.args));
        }
    }
}

fn expected(run: &Run) -> Ended {
    match &run.end {
        End::Exit(code) => Ended::Exit(*code),
        End::Signal(name) => {
            Ended::Signal(Signal::from_str(&format!("SIG{name}")).expect("signal name") as i32)
        }
    }
}

/// Runs natively, cold and warm in the same (each time empty) folder; all must agree.
/// Gives back the native outcome.
pub fn three_ways(cmd: &Cmd) -> Outcome {
    three_ways_with(&[], cmd)
}

/// The same with more options for `run`.
pub fn three_ways_with(options: &[&str], cmd: &Cmd) -> Outcome {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db()).with(options);
    let native = scratch.run(cmd);
    for way in ["cold", "warm"] {
        let wrapped = ppin.wrap(cmd);
        let outcome = scratch.run(&wrapped);
        if outcome != native {
            let kept = scratch.keep();
            panic!(
                "{way} differs from native; to repeat: {}\n(database: {kept})\n\
                 === native\n{native:?}\n=== {way}\n{outcome:?}",
                wrapped.shell()
            );
        }
    }
    native
}

/// Lets what this thread starts have the same addresses in each run: which ways string functions take
/// depends on them, and a run in ten would have something to compile, or goes another way through what
/// is there and changes its start plan.
///
/// # Panics
/// The kernel does not allow it.
pub fn keep_addresses() {
    let persona = personality::get().expect("it can be asked for") | Persona::ADDR_NO_RANDOMIZE;
    personality::set(persona).expect("it can be changed");
}

/// A folder to run in and a database, both new and gone afterwards.
pub struct Scratch {
    dir: TempDir,
}

impl Scratch {
    /// An empty folder for one test.
    #[allow(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Scratch {
        Scratch {
            dir: tempfile::Builder::new()
                .prefix("ppin-test")
                .tempdir()
                .expect("temp folder"),
        }
    }

    /// Where the database goes.
    pub fn db(&self) -> std::path::PathBuf {
        self.dir.path().join("db")
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs in an emptied folder below this one.
    pub fn run(&self, cmd: &Cmd) -> Outcome {
        let cwd = self.dir.path().join("cwd");
        let _ = fs::remove_dir_all(&cwd);
        fs::create_dir(&cwd).expect("folder to run in");
        cmd.clone().cwd(&cwd).run()
    }

    /// Leaves the folder for inspection and names the database in it.
    pub fn keep(self) -> String {
        self.dir.keep().join("db").display().to_string()
    }
}
