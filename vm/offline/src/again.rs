//! Is kept code what is made of the same bytes today?

use crate::image::Image;
use crate::tool::is_low;
use crate::translate::Translator;
use crate::workers::Workers;
use alloc::vec::Vec;
use ppin_abi::addr::ImageBase;
use ppin_abi::optimize::Optimize;
use ppin_api::Tool;
use ppin_persist::{Thawed, UnitFile, source_hash};
use ppin_relocator::{Fragment, normalise};

/// What came of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is the same.
    Same,
    /// This part of it differs.
    Differs(&'static str),
    /// The file does not hold the bytes that it was made from: they were changed in memory.
    NotInFile,
}

/// Translates all `traces` of `unit` again, from the contents of its image's file.
#[must_use]
pub fn compare(
    unit: &UnitFile<'_>,
    traces: &[Thawed],
    file: &[u8],
    (tool, optimize): (&dyn Tool, Optimize),
    workers: &impl Workers,
) -> Vec<Verdict> {
    let image = Image::new(file, base(unit));
    let translator = Translator::new(&image, tool, optimize);
    workers.map(traces, |kept| verdict(kept, &image, &translator))
}

fn verdict(kept: &Thawed, image: &Image<'_>, translator: &Translator<'_>) -> Verdict {
    let code = &kept.fragment;
    let source = image.bytes_at(code.head, code.source_len);
    let Some(source) = source.filter(|bytes| source_hash(bytes) == kept.source_hash) else {
        return Verdict::NotInFile;
    };
    let mut made = translator.again(code, source);
    normalise(&mut made);
    difference(code, &made).map_or(Verdict::Same, Verdict::Differs)
}

/// A base at which the compiler chooses the same forms as it did: absolute addresses
/// in images below 2 GiB, distances above.
pub(crate) fn base(unit: &UnitFile<'_>) -> ImageBase {
    const LOW: ImageBase = ImageBase(0x40_0000);
    const HIGH: ImageBase = ImageBase(0x7f00_0000_0000);
    let absolute = unit.unit().geometry().absolute_for;
    absolute.unwrap_or(if is_low(unit) { LOW } else { HIGH })
}

/// The first part in which two translations differ.
fn difference(kept: &Fragment, made: &Fragment) -> Option<&'static str> {
    let parts = [
        (kept.hot == made.hot, "code"),
        (kept.cold == made.cold, "records"),
        (kept.slots == made.slots, "slots"),
        (kept.relocs == made.relocs, "relocations"),
        (kept.exits == made.exits, "exits"),
        (kept.pc_map == made.pc_map, "pc map"),
        (kept.counts == made.counts, "counts"),
        (kept == made, "extent"),
    ];
    parts.iter().find(|(same, _)| !same).map(|(_, what)| *what)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::image::tests::{AT, file};
    use crate::label::Label;
    use crate::target::Target;
    use crate::tool::{NoTool, tool_of};
    use crate::walk::walk;
    use crate::workers::Alone;
    use ppin_abi::addr::ImageOff;
    use ppin_abi::context::Context;
    use ppin_persist::{Key, Piece, UnitSpec, freeze, options, tool_key};
    use ppin_relocator::FragmentRef;

    /// push; je 4; call 9; pop; ret; 9: lea rax, [rip + 0]; jmp 0
    const CODE: &[u8] = &[
        0x55, 0x74, 1, 0x90, 0xe8, 0, 0, 0, 0, 0x58, 0xc3, 0x48, 0x8d, 5, 0, 0, 0, 0, 0xeb, 0xec,
    ];
    const BASE: ImageBase = ImageBase(0x7f00_0000_0000);

    /// In place of the hash of an object: the tools of tests are part of the test.
    fn hash(tool: &str) -> [u8; 32] {
        ppin_persist::object_hash(tool.as_bytes())
    }

    /// The label of a unit made for `tool`, with more lines.
    fn label(tool: &str, more: &str) -> String {
        let hash = ppin_plugin::chosen::hex(&hash(tool));
        format!("--tool={hash} {tool}{more}")
    }

    /// A unit of all that the code at [`AT`] leads to, made for `tool` and labelled so.
    fn unit(file: &[u8], tool: &str, label: &str) -> Vec<u8> {
        let parsed = Label::parse(label.as_bytes());
        let optimize = parsed
            .optimize
            .as_deref()
            .map_or(Ok(Optimize::ALL), Optimize::parse);
        let optimize = optimize.unwrap_or(Optimize::ALL);
        let made_for = ppin_tools::by_name(tool).unwrap();
        let tools = [(hash(tool), String::new())];
        unit_of(file, &*made_for, optimize, (&tools, label))
    }

    /// The same under any tools and label.
    pub(crate) fn unit_of(
        file: &[u8],
        tool: &dyn Tool,
        optimize: Optimize,
        (tools, label): (&[([u8; 32], String)], &str),
    ) -> Vec<u8> {
        let image = Image::new(file, BASE);
        let root = Target {
            off: ImageOff(AT as i32),
            context: Context::CANONICAL,
        };
        let translator = Translator::new(&image, tool, optimize);
        let mut made = walk(&translator, [root], 100, &Alone);
        made.iter_mut().for_each(normalise);
        let source = |code: &Fragment| image.bytes_at(code.head, code.source_len).unwrap();
        let piece = |code| Piece {
            fragment: FragmentRef::from(code),
            flags: 0,
            source_hash: source_hash(source(code)),
            tool: &[],
        };
        let pieces: Vec<Piece<'_>> = made.iter().map(piece).collect();
        freeze(&UnitSpec {
            key: Key {
                image: [1; 32],
                engine: [2; 32],
                tool: tool_key(tools, &options(false, optimize)),
            },
            displacement: -0x1000_0000,
            image_base: BASE,
            image_path: b"image",
            label: label.as_bytes(),
            explored: false,
            entrances: true,
            fragments: &pieces,
        })
        .unwrap()
    }

    fn verdicts(unit: &[u8], file: &[u8], tool: &str) -> Vec<Verdict> {
        let unit = UnitFile::open(unit, None).unwrap();
        let tool = ppin_tools::by_name(tool).unwrap();
        compare(
            &unit,
            &unit.thaw_all().unwrap(),
            file,
            (&*tool, Optimize::ALL),
            &Alone,
        )
    }

    #[test]
    fn what_was_walked_and_frozen_is_the_same_again() {
        let file = file(CODE);
        for tool in ppin_tools::all() {
            let unit = unit(&file, tool.name(), &label(tool.name(), ""));
            let verdicts = verdicts(&unit, &file, tool.name());
            assert!(verdicts.iter().all(|v| *v == Verdict::Same), "{verdicts:?}");
        }
    }

    #[test]
    fn other_instrumentation_differs_and_other_bytes_cannot_be_compared() {
        let file = file(CODE);
        let unit = unit(&file, "icount", &label("icount", ""));
        let differs = |v: &Verdict| matches!(v, Verdict::Differs(_));
        assert!(verdicts(&unit, &file, "null").iter().all(differs));
        let mut changed = file;
        changed[AT] ^= 1;
        let verdicts = verdicts(&unit, &changed, "icount");
        assert!(verdicts.contains(&Verdict::NotInFile));
        assert!(verdicts.contains(&Verdict::Same));
    }

    #[test]
    fn the_tool_is_the_one_that_the_label_tells() {
        let file = file(CODE);
        let by_name = |chosen: &ppin_plugin::Chosen| {
            let tool = ppin_tools::by_name(&chosen.name);
            tool.ok_or_else(|| format!("no {}", chosen.name))
        };
        let found = |label: &str| {
            let unit = unit(&file, "bbcount", label);
            let unit = UnitFile::open(&unit, None).unwrap();
            tool_of(&unit, &by_name).map(|(tool, set)| (tool.name(), set))
        };
        assert_eq!(found(&label("bbcount", "")), Ok(("bbcount", Optimize::ALL)));
        let none = found(&label("bbcount", "\n--optimize=none"));
        assert_eq!(none, Ok(("bbcount", Optimize::NONE)));
        let other = found(&label("bbcount", "\n--optimize=+other"));
        assert!(matches!(other, Err(NoTool::Mechanism(_))), "{other:?}");
        let missing = found(&label("other", ""));
        assert_eq!(missing, Err(NoTool::Missing("no other".into())));
        assert_eq!(found(&label("icount", "")), Err(NoTool::OtherKnobs));
        assert_eq!(found(""), Err(NoTool::OtherKnobs));
        let refused = found(&label("bbcount", "\nknob=1"));
        assert!(matches!(refused, Err(NoTool::Refuses(..))), "{refused:?}");
    }
}
