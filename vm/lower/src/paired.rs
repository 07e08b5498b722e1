//! Calls that the CPU sees as calls, so that it predicts where their returns go.
//!
//! The CPU remembers where each `call` stands, and expects the next `ret` behind it. An app call
//! contains such a `call`, so the app's return can be a `ret` of the CPU as well. The address
//! that it pushes goes to the return cache ([`ppin_abi::area::Area::returns`]), where the return takes it
//! from, and the app's return address lies on the stack.
//!
//! ```text
//!       push qword [rip + slot]
//!       call callee                      which is an exit: rel32, aligned
//!       lea rsp, [rdx + 16]              a return comes here, for app address rcx: see super::ret
//!       mov rdx, imm64                   see super::meant
//!       mov rdx, [rip + slot]
//!       lea rcx, [rcx + rdx + 1]         1 if it is the same
//!       loop elsewhere                   jmp gs:[Entry::ReturnedElsewhere]
//!       mov rdx, gs:[rcx + Spill::Rdx]   rcx is 0; unless they may stay there
//!       mov rcx, gs:[rcx + Spill::Rcx]   ([`super::stay`])
//!       ...                              what follows the call
//! ```
//! The CPU's address lies below the app's then, and the callee's fragment begins with code that takes
//! it away ([`super::called`]). Where the callee is not known, or the mechanism is off, a `call` that
//! does not leave the fragment comes first, and the app's address takes the place of the CPU's:
//!
//! ```text
//!       call over
//!       ...                              the same; behind the whole trace:
//! over: mov gs:[Spill::Rax], rax
//!       movzx eax, sp
//!       rorx rax, rax, 3
//!       pop gs:[rax * 8 + RETURNS_BELOW] to the return cache
//!       mov rax, gs:[Spill::Rax]
//!       push qword [rip + slot]
//! ```
//! The flags are left alone: a return that comes to the wrong call may bring some that are needed.
//!
//! The cache goes by the place on the stack: so recursion does not overwrite what outer calls
//! have put there, and each call finds its own, though there may be several translations of it.
//! An entry is written as a whole, wherever the stack pointer points: a part of one address with a part of another
//! would lead anywhere. (A return by a stack pointer that is no multiple of 8 reads parts of two, which are no
//! address; it is looked up.)
//!
//! In code that compares itself the call ends the trace, and what the return comes to leads on to a trace of its
//! own, which compares its source then. (Else each return there would be mispredicted and looked up.)
//!
//! What follows the call may be taken out of use while the call is under way, its source having
//! changed. Then the slot that is compared with is changed, too, and the return is looked up.
//!
//! One word of the stack that a native call does not write to is written to: that of the CPU's address
//! below the app's, which becomes 0 then, if the callee does not write to it first. If there is no memory,
//! the VM lets the call go on without it. What is left above it when the return has been made is what a
//! native call leaves.

use super::meant;
use super::site::Site;
use super::stay::{Behind, stays};
use ppin_abi::area::{Entry, RETURNS_BELOW};
use ppin_abi::context::Context;
use ppin_form::{Form, Gpr, Need, Op, Temp};

/// The call of `site`, from where its operand has been read: pushes the app's return address, and
/// leaves as `leave` says. `alive` are the temporaries that live on until then. If it is `lent`,
/// `leave` gets a temporary that is rax.
pub(super) fn call(
    form: &mut Form,
    site: &Site<'_>,
    alive: &[Temp],
    lent: bool,
    leave: impl FnOnce(&mut Form, Option<Temp>),
) {
    let ins = site.id;
    if !form.pairs_returns() {
        form.push(Op::PushNext { ins });
        return leave(form, None);
    }
    let over = form.label();
    form.push(Op::CallOver { to: over });
    form.gone(alive);
    returned(form, site);
    form.aside(ins, |form| {
        form.place(over, alive);
        let index = note_return(form, RETURNS_BELOW);
        if !lent {
            form.give(&[index]);
        }
        form.push(Op::PushNext { ins });
        leave(form, lent.then_some(index));
    });
}

/// The call of `site` to a fixed target, whose fragment is entered with `context`.
pub(super) fn to_callee(form: &mut Form, site: &Site<'_>, context: Context) {
    let ins = site.id;
    let context = context.with(Context::CALLED);
    form.push(Op::PushNext { ins });
    form.push(Op::Done { ins });
    form.push(Op::ExitCall { ins, context });
    returned(form, site);
}

/// Moves what the CPU has pushed to the return cache, which begins at `entries` for the stack pointer as it
/// is; the temporary, rax, that it took for it.
pub(super) fn note_return(form: &mut Form, entries: u32) -> Temp {
    let [index] = form.take([Need::fixed(Gpr::RAX)]);
    let by = index.into();
    form.push(Op::StackWord { to: by });
    form.push(Op::PopEntry { index: by, entries });
    index
}

/// Registers rcx, which is 0, and rdx, which `temps` are, get the app's values, if those do not stay where they are.
fn give_back(form: &mut Form, site: &Site<'_>, [target, own]: [Temp; 2]) {
    let behind = Behind {
        ins: site.behind,
        first: site.id.0 + 1,
    };
    let stay = [Gpr::RCX, Gpr::RDX].map(|register| stays(form, register, behind));
    if stay == [None; 2] {
        return form.give_by(target, &[target, own]);
    }
    for (temp, stay) in [own, target].into_iter().zip(stay.into_iter().rev()) {
        match stay {
            Some(until) => form.stay(temp, until),
            None => form.give_by(target, &[temp]),
        }
    }
}

/// Where returns come to: behind the call.
fn returned(form: &mut Form, site: &Site<'_>) {
    let ins = site.id;
    let temps = form.returned([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RDX)]);
    form.push(Op::StackBack {
        from: temps[1].into(),
    });
    let entry = Entry::ReturnedElsewhere;
    meant::check(form, temps, entry, |form, [to, own], more| {
        form.push(Op::LoadReturn { to: own, ins });
        form.push(Op::Lea {
            to,
            base: to,
            index: Some(own),
            disp: more,
        });
    });
    give_back(form, site, temps);
    form.push(Op::Done { ins });
}
