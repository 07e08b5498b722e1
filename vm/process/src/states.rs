//! States of the tool: each thread has a copy of each, and those of ended threads are merged.
//!
//! Emitted code finds the running thread's copies in the thread area
//! ([`ppin_abi::area::Calls::states`]).

use crate::thread::Thread;
use crate::vm::Vm;
use alloc::boxed::Box;
use alloc::vec::Vec;
use ppin_abi::area::MAX_STATES;
use ppin_api::{State, StateCopy, StateId, Tool};

/// A copy of each state of the tool, by [`StateId`].
type Copies = Vec<Box<dyn StateCopy>>;

/// All copies of the states.
#[derive(Default)]
pub struct States {
    /// Those of live threads, by the address of the thread's structure.
    live: Vec<(u64, Copies)>,
    /// Those into which ended threads are merged; empty while none has ended.
    ended: Copies,
}

/// The states of `tool` that there is room for.
fn of(tool: &dyn Tool) -> &'static [State] {
    let all = tool.states();
    &all[..all.len().min(MAX_STATES)]
}

fn make(tool: &dyn Tool) -> Copies {
    of(tool).iter().map(State::make).collect()
}

fn add(sum: &mut Copies, copies: &Copies) {
    for (sum, copy) in sum.iter_mut().zip(copies) {
        sum.as_mut().add(copy.as_ref());
    }
}

impl States {
    /// Gives `thread` copies of the states of `tool`.
    pub(crate) fn begin(&mut self, tool: &dyn Tool, thread: &mut Thread) {
        if of(tool).is_empty() {
            return;
        }
        let mut copies = make(tool);
        for (cell, copy) in thread.area.calls.states.iter_mut().zip(&mut copies) {
            *cell = copy.as_mut().address() as u64;
        }
        self.live.push((thread.area.self_ptr, copies));
    }

    /// Merges the copies of `thread`, which runs no routine any more.
    pub(crate) fn end(&mut self, tool: &dyn Tool, thread: &Thread) {
        let at = self
            .live
            .iter()
            .position(|(of, _)| *of == thread.area.self_ptr);
        let Some(at) = at else {
            return;
        };
        let (_, copies) = self.live.swap_remove(at);
        if self.ended.is_empty() {
            self.ended = make(tool);
        }
        add(&mut self.ended, &copies);
    }

    /// Forgets what was collected, in a forked child with the only thread `thread`.
    pub(crate) fn begin_anew(&mut self, tool: &dyn Tool, thread: &mut Thread) {
        *self = Self::default();
        self.begin(tool, thread);
    }
}

/// State `id` merged over all threads.
#[must_use]
pub fn merged(vm: &Vm, id: StateId) -> Option<Box<dyn StateCopy>> {
    let number = usize::from(id.0);
    let mut sum = of(vm.tool()).get(number)?.make();
    let states = vm.states();
    let live = states.live.iter().map(|(_, copies)| copies);
    for copies in live.chain([&states.ended]) {
        if let Some(copy) = copies.get(number) {
            sum.as_mut().add(copy.snapshot().as_ref());
        }
    }
    Some(sum)
}
