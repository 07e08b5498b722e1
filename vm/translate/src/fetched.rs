//! The app's bytes that a trace is chosen from.

use ppin_abi::addr::AppPc;
use ppin_decode::MAX_INS_LEN;
use ppin_images::Region;
use ppin_jit::{BytesEnd, Chosen, MAX_TRACE_BYTES, Request};
use ppin_os::{peek, userfault};
use ppin_process::vm::Vm;

/// Bytes that are read for a trace at first: nearly all traces are shorter.
const USUAL_TRACE_BYTES: usize = 192;

type Buffer = [u8; MAX_TRACE_BYTES];

/// Bytes in memory from the head of a trace on.
pub(crate) struct Fetched {
    pc: AppPc,
    /// Where they lie; `None`: the app may not execute what is there.
    pub region: Option<Region>,
    buffer: Buffer,
    len: usize,
    /// Why there are no more.
    pub end: BytesEnd,
}

impl Fetched {
    /// Bytes at `pc`: as many as nearly all traces need, unless `all` are wanted.
    pub(crate) fn at(vm: &mut Vm, pc: AppPc, all: bool) -> Self {
        let mut fetched = Self {
            pc,
            region: ppin_process::app_code::region(vm, pc),
            buffer: [0; MAX_TRACE_BYTES],
            len: 0,
            end: BytesEnd::Unreadable,
        };
        fetched.fetch(if all {
            MAX_TRACE_BYTES
        } else {
            USUAL_TRACE_BYTES
        });
        fetched
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// The trace that is asked for.
    pub(crate) fn choose(&self, asked: &Request<'_>) -> Chosen {
        ppin_jit::choose(&Request {
            bytes: self.bytes(),
            end: self.end,
            ..*asked
        })
    }

    /// Fetches all that a trace may have, if there may be more of the one that was `chosen`. Whether it did.
    pub(crate) fn go_on(&mut self, chosen: &Chosen) -> bool {
        let may_be_longer =
            self.len == USUAL_TRACE_BYTES && chosen.source_len() as usize + MAX_INS_LEN > self.len;
        if may_be_longer {
            self.fetch(MAX_TRACE_BYTES);
        }
        may_be_longer
    }

    /// Fetches the bytes again, but only as many of the `likely` ones as are guarded. Whether a trace chosen
    /// from those of before, of that length, would be chosen again.
    pub(crate) fn again(&mut self, vm: &Vm, likely: usize) -> bool {
        let before = (self.len, self.end, self.buffer);
        self.fetch(MAX_TRACE_BYTES);
        let guards = vm.code().guards();
        let steady = guards.steady(self.pc.0, likely as u64) as usize;
        if !guards.is_volatile(self.pc.0) && steady < self.len {
            (self.len, self.end) = (steady, BytesEnd::Limit);
        }
        self.decides_as(before, likely)
    }

    /// Whether the `likely` bytes, and those of an instruction behind them, are as they were `before`.
    fn decides_as(&self, (len, end, buffer): (usize, BytesEnd, Buffer), likely: usize) -> bool {
        let looked_at = likely + MAX_INS_LEN;
        let same = |bytes: usize| self.buffer[..bytes] == buffer[..bytes];
        let all_there = likely <= self.len && looked_at <= len && end == self.end;
        all_there && same(looked_at.min(self.len))
    }

    fn fetch(&mut self, most: usize) {
        let Some(region) = self.region else {
            return;
        };
        let room = (region.end - self.pc.0).min(most as u64) as usize;
        self.len = read(self.pc, &mut self.buffer[..room]);
        self.end = if self.len < room {
            BytesEnd::Unreadable
        } else {
            BytesEnd::Limit
        };
    }
}

/// Reads the code at `pc` that is in memory; returns the number of bytes.
pub(crate) fn read(pc: AppPc, buffer: &mut [u8]) -> usize {
    let len = userfault::readable(pc.0, buffer.len());
    peek::read(pc.0, &mut buffer[..len])
}
