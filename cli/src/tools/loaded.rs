//! Objects of tools in this process, so that the tools themselves can be asked: which knobs they
//! take, and what they insert.
//!
//! # Safety
//!
//! An object that was accepted (`ppin_plugin`) is laid out in fresh memory, whose pages get the
//! rights that it asks for before its first instruction runs, and which is never unmapped. A tool
//! is code that the user has named, like a program: it runs with the user's rights.
#![allow(unsafe_code)]

use super::Found;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect};
use ppin_door::Plugged;
use ppin_door::table::{Services, Text};
use ppin_plugin::{Object, Rights};
use ppin_sdk::prelude::Tool;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

static SERVICES: Services = Services::new(fail);

/// A tool has failed in this process.
extern "C" fn fail(why: Text<'_>) -> ! {
    eprintln!("ppin: the tool failed: {}", why.text());
    std::process::exit(i32::from(crate::failure::FAILED))
}

/// The objects that were laid out, by hash: each once, however many tools are made of it.
#[derive(Debug, Default)]
pub struct Shelf {
    bases: HashMap<[u8; 32], u64>,
}

impl Shelf {
    /// A tool of this object, with its knobs at their defaults.
    ///
    /// # Errors
    /// There is no memory.
    pub fn load(&mut self, found: &Found) -> Result<Box<dyn Tool>, String> {
        let object = Object::parse(found.bytes()).map_err(|why| why.to_string())?;
        let base = match self.bases.get(&found.chosen.hash) {
            Some(base) => *base,
            None => lay_out(&object).map_err(|why| format!("no memory for a tool: {why}"))?,
        };
        self.bases.insert(found.chosen.hash, base);
        // SAFETY: see the module.
        let tool = unsafe { Plugged::open(&object, base, found.card.clone(), &SERVICES) };
        Ok(Box::new(tool))
    }
}

fn lay_out(object: &Object<'_>) -> nix::Result<u64> {
    let len = NonZeroUsize::new(object.span() as usize).ok_or(nix::Error::EINVAL)?;
    let writable = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: new memory at a place of the kernel's choice.
    let base = unsafe { mmap_anonymous(None, len, writable, MapFlags::MAP_PRIVATE) }?;
    // SAFETY: as long as it was mapped, zero, and known to nobody else.
    let memory = unsafe { std::slice::from_raw_parts_mut(base.as_ptr().cast(), len.get()) };
    object.lay_out(memory, base.as_ptr() as u64);
    for part in object.protections() {
        let rights = match part.rights {
            Rights::Read => ProtFlags::PROT_READ,
            Rights::Execute => ProtFlags::PROT_READ | ProtFlags::PROT_EXEC,
            Rights::Write => continue,
        };
        let at = base.as_ptr() as usize + part.pages.start as usize;
        let at = NonNull::new(at as *mut _).ok_or(nix::Error::EINVAL)?;
        let len = (part.pages.end - part.pages.start) as usize;
        // SAFETY: pages of the object, which nobody writes to any more.
        unsafe { mprotect(at, len, rights) }?;
    }
    Ok(base.as_ptr() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::addr::{ImageBase, ImageOff, ImageRange};
    use ppin_abi::context::Context;
    use ppin_abi::optimize::Optimize;
    use ppin_jit::{BytesEnd, Request, compile};

    /// push rax; mov eax, fs:[8]; gather; rep movsb; je; ret
    const CODE: &[u8] = &[
        0x50, 0x64, 0x8b, 0x04, 0x25, 8, 0, 0, 0, 0x48, 0x8b, 0x44, 0x8b, 0x10, 0xf3, 0xa4, 0x74,
        0x10, 0xff, 0x25, 0, 0, 0, 0,
    ];

    /// The code that is made under `tool`.
    fn made(tool: &dyn Tool) -> String {
        let image = ImageBase(0x7f00_0000_0000);
        let request = Request {
            pc: ImageOff(0x1000).at(image),
            image,
            context: Context::CANONICAL,
            bytes: CODE,
            end: BytesEnd::Limit,
            max_source: None,
            shape: ppin_relocator::Shape::STRAIGHT,
            sequences: &[],
            // Routines themselves differ: those of the objects are always optimised.
            arrives: false,
            optimize: Optimize::ALL.without(Optimize::INLINE),
            sealed: ImageRange::NONE,
            steady: false,
            bodies: None,
        };
        format!("{:?}", compile(&request, tool))
    }

    #[test]
    fn a_loaded_tool_inserts_what_it_does_as_part_of_the_executable() {
        let mut shelf = Shelf::default();
        for linked in ppin_tools::all() {
            let found = Found::by_word(linked.name()).unwrap();
            let loaded = shelf.load(&found).unwrap();
            assert_eq!(loaded.about(), linked.about());
            let of = |tool: &dyn Tool| {
                let names: Vec<_> = tool.routines().iter().map(|r| r.name).collect();
                let counters = (tool.global_counters(), tool.image_counters());
                (names, counters, tool.distinguishes_blocks())
            };
            assert_eq!(of(&*loaded), of(&*linked));
            assert_eq!(made(&*loaded), made(&*linked), "{}", linked.name());
        }
    }

    #[test]
    fn tools_of_one_object_have_each_its_own_state() {
        let found = Found::by_word("opcodemix").unwrap();
        let mut shelf = Shelf::default();
        let [mut one, mut two] = [(); 2].map(|()| shelf.load(&found).unwrap());
        assert_eq!(shelf.bases.len(), 1);
        assert_eq!(one.configure(&[("top", "3")]), Ok(()));
        assert!(two.configure(&[("top", "x")]).is_err());
    }
}
