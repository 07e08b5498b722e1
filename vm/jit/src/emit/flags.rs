//! Saving the flags, and comparing the source while they are saved.

use super::fragment::Emitter;
use super::writer::Writer;
use dynasm::dynasm;
use ppin_form::{COMPARED_AT_ONCE, InsId, Temp};
use ppin_relocator::pc_flag;

impl Writer<'_> {
    pub(super) fn save_flags(&mut self) {
        dynasm!(self.emitter.hot; .arch x64; lahf; seto al);
        self.emitter.row_flags |= pc_flag::FLAGS_IN_RAX;
        self.emitter.row(0);
    }

    pub(super) fn flags_kept(&mut self) {
        self.emitter.row_flags |= pc_flag::FLAGS_IN_RAX;
        self.emitter.row(0);
    }

    pub(super) fn restore_flags(&mut self, dead: bool) {
        if !dead {
            dynasm!(self.emitter.hot; .arch x64; add al, BYTE 127; sahf);
        }
        self.emitter.row_flags &= !pc_flag::FLAGS_IN_RAX;
    }

    pub(super) fn comparing(&mut self, on: bool) {
        let Emitter {
            pc_map, row_flags, ..
        } = &mut *self.emitter;
        if on {
            let block = pc_map
                .last_mut()
                .map_or(0, |row| row.flags & pc_flag::BLOCK);
            *row_flags |= pc_flag::COMPARING | block;
        } else {
            *row_flags &= pc_flag::FLAGS_IN_RAX;
            self.emitter.row(0);
        }
    }

    pub(super) fn compare_source(&mut self, first: InsId, last: InsId, word: Option<Temp>) {
        let (first, last) = (self.source.ins(first), self.source.ins(last));
        let bytes = &self.source.bytes[first.offset as usize..last.end() as usize];
        let word = word.is_some();
        debug_assert!(word || bytes.len() < COMPARED_AT_ONCE);
        self.emitter.compare(first.pc(), first.offset, bytes, word);
    }

    pub(super) fn leave_if_below(&mut self, ins: InsId, width: i32) {
        let ins = self.source.ins(ins);
        self.emitter.leave_if_below(ins.pc(), ins.offset, width);
    }
}
