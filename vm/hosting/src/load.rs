//! Loads the tools of the run into memory of the runtime's own.
//!
//! A bundled tool lies in the ppin executable, whose descriptor the launch has left open, and is mapped
//! from there, as the runtime is. Any other is opened by its path, here in the process that will run
//! it: no further descriptor has to survive the exec. The run was started, and code is kept, under the
//! hash of the tool's bytes. So such a file is copied and not mapped, and the copy is hashed: whoever
//! replaces or overwrites the file during a run can end it, but neither run other code under the old key
//! nor change code that runs.

use super::contents::Contents;
use alloc::boxed::Box;
use alloc::vec::Vec;
use ppin_api::Tool;
use ppin_door::table::{Services, Text};
use ppin_door::{Plugged, identity, joined, opcodes};
use ppin_os::file::File;
use ppin_os::{mem, place, report};
use ppin_persist::ToolIdentity;
use ppin_plugin::{Card, Chosen, Object, Rights};
use ppin_process::report::diagnosis;
use ppin_process::vm;

static SERVICES: Services = Services::new(fail);

/// Ends the process for a tool that cannot go on.
extern "C" fn fail(why: Text<'_>) -> ! {
    diagnosis::say(
        format_args!("ppin: the tool failed: {}", why.text()),
        None,
        None,
    );
    report::give_up(format_args!("the tool cannot go on"))
}

/// The tools of a run, loaded and configured.
pub struct Loaded {
    /// All of them as one.
    pub tool: &'static dyn Tool,
    /// Each of them, for the key of persisted code.
    pub identities: Vec<ToolIdentity>,
}

/// Loads the tools of the run. `carrier` is the ppin executable.
pub fn load(chosen: &[Chosen], carrier: File) -> Loaded {
    let (contents, carrier) = contents(chosen, carrier);
    let objects: Vec<_> = contents.iter().zip(chosen).map(parsed).collect();
    let room: u64 = objects.iter().map(Object::span).sum();
    let mut base = room_for(room);
    let (mut tools, mut identities): (Vec<Box<dyn Tool>>, Vec<_>) = Default::default();
    for ((object, bytes), tool) in objects.iter().zip(&contents).zip(chosen) {
        let len = object.span() as usize;
        let mut room = Room { base, len };
        let place = bytes.place().filter(|_| object.lies_as_in_file());
        match carrier.as_ref().zip(place) {
            Some(from) => map(object, &mut room, tool, from),
            None => object.lay_out(room.bytes(), base),
        }
        let plugged = configured(object, room, tool);
        identities.push(identity(tool, &plugged));
        tools.push(Box::new(plugged));
        base += object.span();
    }
    match joined(tools) {
        Ok(all) => Loaded {
            tool: Box::leak(all),
            identities,
        },
        Err(too_many) => report::give_up(format_args!("{too_many}")),
    }
}

/// Memory for `len` bytes of objects.
fn room_for(len: u64) -> u64 {
    if len == 0 {
        return 0;
    }
    match place::anywhere(len, mem::RW) {
        Ok(base) => {
            vm::tools_lie_at(base, base + len);
            base
        }
        Err(e) => report::give_up(format_args!("no memory for the tools ({e})")),
    }
}

/// The bytes of the tools' objects. The carrier is closed before another file is opened: the
/// program may be allowed one more descriptor only. If all tools are carried, it is given back.
fn contents(chosen: &[Chosen], carrier: File) -> (Vec<Contents>, Option<File>) {
    let is_path = |tool: &Chosen| Chosen::is_path(&tool.name);
    let carried = |tool: &Chosen| {
        let contents = Contents::carried(tool.place, &carrier);
        contents.unwrap_or_else(|why| refuse(tool, &why))
    };
    let bundled: Vec<_> = chosen
        .iter()
        .filter(|tool| !is_path(tool))
        .map(carried)
        .collect();
    let carrier = (bundled.len() == chosen.len()).then_some(carrier);
    let mut bundled = bundled.into_iter();
    let unchanged = |tool| Contents::unchanged(tool).unwrap_or_else(|why| refuse(tool, &why));
    let all = chosen.iter().filter_map(|tool| match is_path(tool) {
        true => Some(unchanged(tool)),
        false => bundled.next(),
    });
    (all.collect(), carrier)
}

fn refuse(tool: &Chosen, why: &dyn core::fmt::Display) -> ! {
    report::give_up(format_args!("cannot load the tool {}: {why}", tool.name))
}

fn parsed<'a>((bytes, tool): (&'a Contents, &Chosen)) -> Object<'a> {
    Object::parse(bytes).unwrap_or_else(|why| refuse(tool, &why))
}

/// Room for an object, to which nothing else refers before the object is open.
struct Room {
    base: u64,
    len: usize,
}

impl Room {
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: memory that was mapped for the object, and is reached by way of this only.
        unsafe { core::slice::from_raw_parts_mut(self.base as *mut u8, self.len) }
    }
}

/// Maps `object` into its room, from its place in the ppin executable.
fn map(object: &Object<'_>, room: &mut Room, tool: &Chosen, (carrier, place): (&File, u64)) {
    let (base, len) = (room.base, object.pages_in_file());
    // SAFETY: nothing refers to the room while it is borrowed here.
    let mapped = unsafe { mem::map_file_over(base, len, mem::RW, carrier.fd(), place) };
    if let Err(e) = mapped {
        refuse(tool, &e);
    }
    object.complete(room.bytes(), base);
}

/// The tool of `object`, which has been laid out in its room, with its knobs.
fn configured(object: &Object<'_>, mut room: Room, tool: &Chosen) -> Plugged {
    let base = room.base;
    let card = Card::of_laid_out(object, opcodes(), room.bytes(), base);
    let card = card.unwrap_or_else(|why| refuse(tool, &why));
    for part in object.protections() {
        let rights = match part.rights {
            Rights::Read => mem::R,
            Rights::Execute => mem::RX,
            Rights::Write => continue,
        };
        let (at, len) = (base + part.pages.start, part.pages.end - part.pages.start);
        // SAFETY: pages of the object, which are not written to any more.
        if let Err(e) = unsafe { mem::protect(at, len, rights) } {
            refuse(tool, &e);
        }
    }
    // SAFETY: laid out and judged above, and never unmapped.
    let mut plugged = unsafe { Plugged::open(object, base, card, &SERVICES) };
    if let Err(why) = plugged.configure(&tool.pairs()) {
        report::give_up(format_args!("{why}"));
    }
    plugged
}
