//! `rdgsbase` and `wrgsbase`: the app's base is in the thread area.
//!
//! ```text
//! Target:  rdgsbase r                     Becomes: mov r, gs:[app_gs_base]
//! Target:  wrgsbase r32                   Becomes: mov dword gs:[app_gs_base + 4], 0
//!                                                  mov gs:[app_gs_base], r32
//! Target:  wrgsbase r64                   Becomes: mov gs:[Spill], s
//!                                                  rdfsbase s
//!                                                  wrfsbase r64      faults as the original
//!                                                  wrfsbase s
//!                                                  mov gs:[app_gs_base], r64
//!                                                  mov s, gs:[Spill]
//! ```
//! An address that is not canonical faults. That is for the CPU to say: it is asked by
//! way of fs, which nothing looks at in between.

use super::site::Site;
use iced_x86::Code;
use ppin_abi::area::APP_GS_BASE;
use ppin_form::{Cell, Form, Gpr, Need, Op, Reg, RegSet, Width};

const BASE: Cell = Cell::at(APP_GS_BASE as i32);
const UPPER_HALF: Cell = Cell::at(APP_GS_BASE as i32 + 4);

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    let Some(register) = Gpr::holding(site.ins.raw.op0_register()) else {
        return;
    };
    let (cell, app) = (BASE, Reg::App(register));
    let load = |width| Op::LoadCell {
        to: app,
        cell,
        width,
    };
    match site.ins.raw.code() {
        Code::Rdgsbase_r64 => form.push(load(Width::W64)),
        Code::Rdgsbase_r32 => form.push(load(Width::W32)),
        Code::Wrgsbase_r32 => {
            let (width, from) = (Width::W32, app);
            form.push(Op::SetCell {
                cell: UPPER_HALF,
                value: 0,
                width,
            });
            form.push(Op::StoreCell { cell, from, width });
        }
        _ => write_checked(form, app),
    }
}

fn write_checked(form: &mut Form, from: Reg) {
    let [own] = form.take([Need::one_of(RegSet::of(&[Gpr::RCX, Gpr::RDX]))]);
    form.push(Op::ReadFs { to: own.into() });
    form.push(Op::WriteFs { from });
    form.push(Op::WriteFs { from: own.into() });
    let (cell, width) = (BASE, Width::W64);
    form.push(Op::StoreCell { cell, from, width });
    form.give(&[own]);
}
