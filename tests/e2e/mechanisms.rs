//! Programs whose control flow is out of the ordinary, with each mechanism for it switched off.

use ppin_tests::build::{Guest, guests_in};
use ppin_tests::command::Cmd;
use ppin_tests::ppin::Ppin;
use ppin_tests::skip::cpu_has;
use ppin_tests::ways::Scratch;

/// Those that calls, returns and indirect jumps are made by.
const WAYS: [&str; 5] = [
    "-untaken",
    "-callees",
    "-callees,-untaken",
    "-returns",
    "-indirect",
];

fn is_the_same_each_way(cmd: &Cmd) {
    let native = Scratch::new().run(cmd);
    for way in WAYS {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db()).with(&[&format!("--optimize={way}")]);
        for run in ["cold", "warm"] {
            let wrapped = ppin.wrap(cmd);
            let shell = wrapped.shell();
            assert_eq!(scratch.run(&wrapped), native, "{run}: {shell}");
        }
    }
}

#[test]
fn control_flow_is_right_without_each_of_them() {
    let guests = guests_in("flow").into_iter().map(|path| Guest::load(&path));
    for guest in guests.filter(|guest| cpu_has(&guest.spec.needs)) {
        let Some(exe) = guest.spec.variants.first().and_then(|it| guest.build(it)) else {
            continue;
        };
        for run in &guest.spec.runs {
            is_the_same_each_way(&Cmd::new(&exe).args(&run.args));
        }
    }
}
