//! Loads the tools of the run into memory of the runtime's own.
//!
//! A bundled tool lies in the ppin executable, whose descriptor the launch has left open. Any
//! other is opened by its path, here in the process that will run it: no further descriptor has
//! to survive the exec. The run was started, and code is kept, under the hash of the tool's
//! bytes. So the file is copied and not mapped, and the copy is hashed: whoever replaces or
//! overwrites the file during a run can end it, but neither run other code under the old key nor
//! change code that runs.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_api::Tool;
use ppin_door::table::{Services, Text};
use ppin_door::{Plugged, identity, joined, opcodes};
use ppin_os::file::File;
use ppin_os::{Errno, c, mem, place, report};
use ppin_persist::ToolIdentity;
use ppin_plugin::{Card, Chosen, MAX_FILE, Object, Rights};
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
pub(crate) struct Loaded {
    /// All of them as one.
    pub tool: &'static dyn Tool,
    /// Each of them, for the key of persisted code.
    pub identities: Vec<ToolIdentity>,
}

/// Loads the tools of the run. `carrier` is the ppin executable.
pub(crate) fn load(chosen: &[Chosen], carrier: File) -> Loaded {
    let contents = contents(chosen, carrier);
    let objects: Vec<_> = contents.iter().zip(chosen).map(parsed).collect();
    let room: u64 = objects.iter().map(Object::span).sum();
    let mut base = room_for(room);
    let (mut tools, mut identities): (Vec<Box<dyn Tool>>, Vec<_>) = Default::default();
    for (object, tool) in objects.iter().zip(chosen) {
        let plugged = configured(object, base, tool);
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
/// program may be allowed one more descriptor only.
fn contents(chosen: &[Chosen], carrier: File) -> Vec<Vec<u8>> {
    let carried = |tool: &Chosen| match Chosen::is_path(&tool.name) {
        true => Vec::new(),
        false => bundled(tool.place, &carrier).unwrap_or_else(|why| refuse(tool, &why)),
    };
    let mut contents: Vec<_> = chosen.iter().map(carried).collect();
    drop(carrier);
    for (tool, bytes) in chosen.iter().zip(&mut contents) {
        if Chosen::is_path(&tool.name) {
            *bytes = unchanged(tool);
        }
    }
    contents
}

/// The bytes of the file of a tool, those that the run was started with.
fn unchanged(tool: &Chosen) -> Vec<u8> {
    let bytes = by_path(&tool.name).unwrap_or_else(|why| refuse(tool, &why));
    if ppin_persist::object_hash(&bytes) != tool.hash {
        refuse(tool, &"it has changed since the run was started");
    }
    bytes
}

fn refuse(tool: &Chosen, why: &dyn core::fmt::Display) -> ! {
    report::give_up(format_args!("cannot load the tool {}: {why}", tool.name))
}

fn bundled((at, len): (u64, u64), carrier: &File) -> Result<Vec<u8>, String> {
    if len > MAX_FILE {
        return Err("it is too large".to_string());
    }
    let mut bytes = alloc::vec![0; len as usize];
    match carrier.read_at(&mut bytes, at) {
        Ok(read) if read == bytes.len() => Ok(bytes),
        Ok(_) => Err("the ppin executable is shorter than it was".to_string()),
        Err(e) => Err(e.to_string()),
    }
}

fn by_path(path: &str) -> Result<Vec<u8>, String> {
    let said = |e: Errno| e.to_string();
    let file = File::open(path, c::O_RDONLY | c::O_NONBLOCK | c::O_NOCTTY, 0).map_err(said)?;
    let size = file.stat().map_err(said)?.size;
    if size > MAX_FILE {
        return Err("it is too large".to_string());
    }
    let mut bytes = alloc::vec![0; size as usize];
    // What is missing, or was changed meanwhile, shows in the hash.
    file.read_at(&mut bytes, 0).map_err(said)?;
    Ok(bytes)
}

fn parsed<'a>((bytes, tool): (&'a Vec<u8>, &Chosen)) -> Object<'a> {
    Object::parse(bytes).unwrap_or_else(|why| refuse(tool, &why))
}

/// The tool of `object`, laid out at `base`, where there is room, with its knobs.
fn configured(object: &Object<'_>, base: u64, tool: &Chosen) -> Plugged {
    // SAFETY: fresh memory, that nothing else refers to.
    let memory =
        unsafe { core::slice::from_raw_parts_mut(base as *mut u8, object.span() as usize) };
    object.lay_out(memory, base);
    let card = Card::of_laid_out(object, opcodes(), memory, base);
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
