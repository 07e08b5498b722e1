//! Returns.
//!
//! ```text
//! Target:  ret n
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          pop rcx
//!          lea rsp, [rsp + n]               if n is not 0; leaves the flags alone
//!          jmp gs:[Entry::IblRet]
//! ```

use super::site::Site;
use crate::emit::Emitter;
use dynasm::dynasm;
use iced_x86::Code;
use ppin_abi::area::{Entry, Spill};

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    emitter.save_rcx();
    dynasm!(emitter.hot; .arch x64; pop rcx);
    emitter.row(site.ins.offset, Spill::Rcx.bit(), 0);
    if site.ins.raw.code() == Code::Retnq_imm16 {
        let bytes = i32::from(site.ins.raw.immediate16());
        dynasm!(emitter.hot; .arch x64; lea rsp, [DWORD rsp + bytes]);
    }
    emitter.jump_to(Entry::IblRet);
}
