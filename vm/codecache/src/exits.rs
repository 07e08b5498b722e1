//! Direct exits, as the VM knows them: by the address of the stub that a thread leaves by
//! ([`ppin_abi::record::stub`]).

use crate::cache::CodeCache;
use crate::exit::{CodeOf, KnownExit};
use crate::fresh::{FragmentId, Fresh};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_relocator::{executed_at, executed_before};

impl CodeCache {
    /// The exit whose stub lies at cache address `stub`; `None`: there is none, or it must not run.
    /// Nothing is assumed of the address.
    #[must_use]
    pub fn exit_at(&self, stub: u64) -> Option<KnownExit> {
        let of_fresh = |fresh: &Fresh| fresh.exit_at(stub, self.images.get(fresh.image()).base);
        if let Some(fresh) = self.fragment_at(stub) {
            return of_fresh(fresh);
        }
        if let Some(retired) = self.fresh.retired_at(stub) {
            let of = CodeOf::Retired;
            return of_fresh(retired).map(|exit| KnownExit { of, ..exit });
        }
        let (id, unit) = self.units.at(stub)?;
        unit.known_exit(stub, self.images.get(id).base)
    }

    /// Exit `number` of fragment `id`, if it has so many.
    #[must_use]
    pub fn exit_of(&self, id: FragmentId, number: usize) -> Option<KnownExit> {
        let fresh = self.fragment(id);
        fresh.exit(number, self.images.get(fresh.image()).base)
    }

    /// App instructions that have been executed since its fragment's head when `exit` is taken.
    #[must_use]
    pub fn executed_before(&self, exit: &KnownExit) -> u32 {
        let maps = self.maps_at(exit.branch);
        maps.map_or(0, |maps| {
            let rows = maps.rows.into_iter().collect();
            executed_at(&rows, (exit.branch - maps.hot) as u32)
        })
    }

    /// The same when fresh code is left before the app instruction at `pc` by way of the record at `record`.
    /// `None`: it has been flushed.
    #[must_use]
    pub fn executed_up_to(&self, pc: AppPc, record: u64) -> Option<u32> {
        let fresh = self.fragment_at(record)?;
        let app = (pc.0 - fresh.pc().0) as u32;
        Some(executed_before(&fresh.code().pc_map, app))
    }

    /// Links `exit` of a fragment that has just been made to cache address `entry`.
    pub fn link_new(&mut self, exit: &KnownExit, entry: CachePc) {
        self.fresh.link_first(exit, entry.0);
    }

    /// Links `exit` to cache address `entry`.
    pub fn link(&mut self, exit: &KnownExit, entry: CachePc) {
        self.fresh.link(exit, entry.0);
        if exit.of == CodeOf::Unit {
            self.learn(entry);
        }
    }
}
