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
use crate::emit::Emitter;
use dynasm::dynasm;
use iced_x86::Code;
use ppin_abi::area::{APP_GS_BASE, Spill};

#[allow(
    clippy::useless_conversion,
    reason = "the assembler converts register numbers"
)]
pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let r = site.ins.raw.op0_register().number() as u8;
    let base = APP_GS_BASE as i32;
    match site.ins.raw.code() {
        Code::Rdgsbase_r64 => dynasm!(emitter.hot; .arch x64; gs mov Rq(r), [DWORD base]),
        Code::Rdgsbase_r32 => dynasm!(emitter.hot; .arch x64; gs mov Rd(r), [DWORD base]),
        Code::Wrgsbase_r32 => dynasm!(emitter.hot; .arch x64
            ; gs mov DWORD [DWORD base + 4], 0
            ; gs mov [DWORD base], Rd(r)
        ),
        _ => write_checked(emitter, site.ins.offset, r),
    }
}

#[allow(
    clippy::useless_conversion,
    reason = "the assembler converts register numbers"
)]
fn write_checked(emitter: &mut Emitter, app: u32, r: u8) {
    let base = APP_GS_BASE as i32;
    let scratch = if r == 1 { Spill::Rdx } else { Spill::Rcx };
    let s = scratch.register();
    emitter.save(scratch);
    emitter.row(app, scratch.bit(), 0);
    dynasm!(emitter.hot; .arch x64
        ; rdfsbase Rq(s)
        ; wrfsbase Rq(r)
        ; wrfsbase Rq(s)
        ; gs mov [DWORD base], Rq(r)
    );
    emitter.unspill(scratch);
}
