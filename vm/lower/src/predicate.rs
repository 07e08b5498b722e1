//! Calls that are made only if the instruction behind them does its work.
//!
//! ```text
//! flags:      jcc over                 count:      jrcxz no
//!             the call                             jmp short yes
//!      over:                                no:    jmp over
//!                                           yes:   the call
//!                                           over:
//! ```
//! Neither changes a flag. All of the app's values are in place at the branch, and at `over`.

use ppin_decode::Predicate;
use ppin_form::{Form, InsId, Op};

/// What `write` adds, gone around unless `predicate`, that of `ins`, holds.
pub fn skip_unless(
    form: &mut Form,
    ins: InsId,
    predicate: Option<Predicate>,
    write: impl FnOnce(&mut Form),
) {
    let over = form.label();
    match predicate {
        Some(Predicate::Count { .. }) => {
            let [no, yes] = [(); 2].map(|()| form.label());
            form.push(Op::Unless { ins, to: no });
            form.push(Op::Goto { to: yes });
            form.place(no, &[]);
            form.push(Op::GotoFar { to: over });
            form.place(yes, &[]);
        }
        _ => form.push(Op::Unless { ins, to: over }),
    }
    write(form);
    form.place(over, &[]);
}
