//! Makes the model from the database.

use super::load::load;
use super::model::{Call, Exit, Image, Trace, TraceFigures, Traces, UnitFigures};
use super::target::Place;
use super::unit::Unit;
use crate::database::{label, name};
use crate::failure::{Failure, failed};
use crate::tools::{Found, Shelf};
use ppin_abi::addr::ImageBase;
use ppin_abi::optimize::Optimize;
use ppin_cachedb::{Database, ImageEntry};
use ppin_decode::disasm::{self, Line};
use ppin_jit::{BytesEnd, Request};
use ppin_offline::tool_of;
use ppin_persist::{FragmentInfo, Thawed, UnitSummary, unit_flag};
use ppin_plugin::Chosen;
use ppin_relocator::Fragment;
use std::cell::RefCell;
use std::ops::Range;

/// All images.
pub fn images(db: Option<&Database>, images: &[ImageEntry]) -> Vec<Image> {
    images.iter().map(|entry| image(db, entry)).collect()
}

fn image(db: Option<&Database>, entry: &ImageEntry) -> Image {
    let mut sum = UnitSummary::default();
    for unit in &entry.units {
        if let Some(Ok(Some(unit))) = db.map(|db| load(db, &unit.path)) {
            add(&mut sum, &unit.summary());
        }
    }
    Image {
        name: name(entry),
        identity: entry.image,
        tool: label(&entry.label),
        units: entry.units.len(),
        bytes: entry.bytes(),
        sum,
    }
}

fn add(sum: &mut UnitSummary, unit: &UnitSummary) {
    sum.fragments += unit.fragments;
    sum.instructions += unit.instructions;
    sum.source += unit.source;
    sum.hot += unit.hot;
    sum.cold += unit.cold;
    sum.slots += unit.slots;
    sum.tables += unit.tables;
    sum.file += unit.file;
    sum.exits += unit.exits;
    sum.linked += unit.linked;
}

/// Units of an image.
pub fn units(units: &[Unit]) -> Vec<UnitFigures> {
    let figures = |unit: &Unit| UnitFigures {
        path: unit.path.clone(),
        name: unit.name(),
        image: unit.image_path(),
        image_error: unit.image.as_ref().err().cloned(),
        tool: unit.tool(),
        displacement: unit.file().unit().geometry().displacement,
        sum: unit.summary(),
    };
    units.iter().map(figures).collect()
}

/// Traces of a unit.
pub fn traces(unit: &Unit) -> Traces {
    let file = unit.file();
    let tables = file.unit();
    let infos = (0..tables.fragments()).filter_map(|number| tables.info(number).ok());
    Traces {
        path: unit.path.clone(),
        name: unit.name(),
        image: unit.image_path(),
        tool: unit.tool(),
        traces: infos.map(|info| trace_figures(unit, &info)).collect(),
        count: tables.fragments() as usize,
    }
}

fn trace_figures(unit: &Unit, info: &FragmentInfo) -> TraceFigures {
    let address = unit.elf.address(info.head.0);
    TraceFigures {
        number: info.number,
        offset: info.head.0,
        address,
        place: unit.elf.describe(address),
        symbol: unit.elf.symbol(address).map(|(name, _)| name.to_owned()),
        context: info.context.0,
        instructions: info.instructions,
        source_bytes: info.trace_len(),
        hot_bytes: info.hot.len(),
        cold_bytes: info.cold.len(),
    }
}

/// Gives the traces of `unit` that hold `place` to `show`; all of them without a place. How
/// many there are.
pub fn code(
    unit: &Unit,
    place: Option<&Place>,
    show: &mut dyn FnMut(&Trace),
) -> Result<usize, Failure> {
    let wanted = match place {
        None => Vec::new(),
        Some(Place::Address(address)) => std::iter::once(*address..*address + 1).collect(),
        Some(Place::Symbol(name)) => unit.elf.ranges(name),
    };
    let file = unit.file();
    let mut shown = 0;
    for number in 0..file.unit().fragments() {
        let info = file.unit().info(number).map_err(failed)?;
        if place.is_some_and(|place| !holds(unit, &info, place, &wanted)) {
            continue;
        }
        shown += 1;
        show(&trace(unit, number, &file.thaw(number).map_err(failed)?));
    }
    Ok(shown)
}

fn holds(unit: &Unit, info: &FragmentInfo, place: &Place, wanted: &[Range<u64>]) -> bool {
    let start = unit.elf.address(info.head.0);
    let covered = match place {
        Place::Address(_) => start..start + u64::from(info.trace_len().max(1)),
        // Of a function, the traces that begin in it.
        Place::Symbol(_) => start..start + 1,
    };
    wanted.iter().any(|range| overlap(range, &covered))
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

fn trace(unit: &Unit, number: u32, thawed: &Thawed) -> Trace {
    let fragment = &thawed.fragment;
    let address = unit.elf.address(fragment.head.0);
    let source = unit.source(fragment.head.0, fragment.source_len);
    Trace {
        image: unit.image_path(),
        unit: unit.path.clone(),
        unit_name: unit.name(),
        tool: unit.tool(),
        number,
        offset: fragment.head.0,
        address,
        place: unit.elf.describe(address),
        symbol: unit
            .elf
            .symbol(address)
            .map(|(name, inside)| (name.to_owned(), inside)),
        context: fragment.context.0,
        instructions: fragment.instructions,
        follows: fragment.shape.0.count_ones(),
        source_bytes: fragment.trace_len(),
        relocations: fragment.relocs.len(),
        indirect_target: thawed.flags & unit_flag::INDIRECT_TARGET != 0,
        original: source
            .map(|bytes| original(unit, fragment, bytes))
            .map_err(str::to_owned),
        translated: disasm::hot_lines(fragment),
        exits: fragment
            .exits
            .iter()
            .map(|exit| an_exit(unit, exit))
            .collect(),
        calls: source.map_or_else(|_| Vec::new(), |bytes| calls(unit, fragment, bytes)),
    }
}

/// The instructions of the trace.
fn original(unit: &Unit, fragment: &Fragment, bytes: &[u8]) -> Vec<Line> {
    let address = unit.elf.address(fragment.head.0);
    if fragment.shape.is_straight() {
        return disasm::lines(address, &bytes[..fragment.trace_len() as usize]);
    }
    let chosen = ppin_jit::choose(&request(fragment, bytes, Optimize::ALL));
    let line = |place: Range<u32>| {
        let bytes = bytes.get(place.start as usize..place.end as usize)?;
        let lines = disasm::lines(address + u64::from(place.start), bytes);
        lines.into_iter().next()
    };
    chosen.places().filter_map(line).collect()
}

/// What the compiler was asked for to make `fragment`, of these bytes.
fn request<'a>(fragment: &Fragment, bytes: &'a [u8], optimize: Optimize) -> Request<'a> {
    const IMAGE: ImageBase = ImageBase(0x7f00_0000_0000);
    Request {
        pc: fragment.head.at(IMAGE),
        image: IMAGE,
        context: fragment.context,
        bytes,
        end: BytesEnd::Limit,
        max_source: Some(fragment.source_len),
        shape: fragment.shape,
        sequences: &[],
        arrives: false,
        optimize,
        sealed: ppin_offline::sealed_again(&fragment.slots),
        steady: true,
        bodies: None,
    }
}

thread_local! {
    /// The tools that were asked so far.
    static SHELF: RefCell<Shelf> = RefCell::default();
}

/// What becomes of the calls that the unit's tool inserts into the trace.
fn calls(unit: &Unit, fragment: &Fragment, bytes: &[u8]) -> Vec<Call> {
    let load = |chosen: &Chosen| {
        let found = Found::again(chosen)?;
        SHELF.with_borrow_mut(|shelf| shelf.load(&found))
    };
    let Ok((tool, optimize)) = tool_of(&unit.file(), &load) else {
        return Vec::new();
    };
    let request = request(fragment, bytes, optimize);
    let lines = original(unit, fragment, bytes);
    let fates = ppin_jit::fates(&request, &*tool).into_iter();
    fates
        .map(|fate| Call {
            address: lines.get(fate.ins as usize).map_or(0, |line| line.at),
            after: fate.after,
            taken: fate.taken,
            part: fate.part.text(),
            routine: fate.routine,
            how: fate.how,
        })
        .collect()
}

fn an_exit(unit: &Unit, exit: &ppin_relocator::Exit) -> Exit {
    let target = unit.elf.address(exit.target.0);
    let found = unit.file().unit().entrance(exit.target, exit.context);
    Exit {
        target,
        place: unit.elf.describe(target),
        symbol: unit.elf.symbol(target).map(|(name, _)| name.to_owned()),
        context: exit.context.0,
        linked: found.is_ok_and(|entry| entry.is_some()),
    }
}
