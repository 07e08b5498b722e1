//! Units made as the engine makes them, and doctored ones.

use super::*;
use ppin_abi::addr::{ImageBase, ImageRange};
use ppin_abi::optimize::Optimize;
use ppin_abi::spills::SpillSet;
use ppin_cachedb::Access;
use ppin_jit::{BytesEnd, Request, compile};
use ppin_offline::Label;
use ppin_persist::{Key, Piece, ToolIdentity, UnitSpec, freeze, options, source_hash, tool_key};
use ppin_relocator::{Fragment, FragmentRef, PcRow};
use std::fs;
use std::os::unix::fs::DirBuilderExt;

/// `push rbp; mov rbp, rsp; mov eax, [rip + 0x100]; test eax, eax; jz +2; call +16`
const CODE: &[u8] = &[
    0x55, 0x48, 0x89, 0xe5, 0x8b, 0x05, 0, 1, 0, 0, 0x85, 0xc0, 0x74, 2, 0xe8, 16, 0, 0, 0,
];
const AT: usize = 0x40;

/// The bundled tool called `name`, as a run chooses it; none for `null`.
fn chosen(name: &str) -> Vec<Chosen> {
    let found = Found::by_word(name).unwrap();
    match name {
        "null" => Vec::new(),
        _ => vec![found.chosen],
    }
}

fn identities(tool: &str) -> Vec<ToolIdentity> {
    let tools = chosen(tool).into_iter();
    tools.map(|tool| (tool.hash, String::new())).collect()
}

fn label(tool: &str) -> String {
    Label::of_run(&chosen(tool), Optimize::ALL).to_string()
}

struct World {
    _folder: tempfile::TempDir,
    image: PathBuf,
    key: Key,
    db: Database,
    tool: &'static str,
}

impl World {
    fn new(tool: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let mut bytes = vec![0xcc; AT];
        bytes.extend_from_slice(CODE);
        bytes.resize(0x400, 0xcc);
        fs::write(&image, &bytes).unwrap();
        let key = Key {
            image: ppin_persist::identity::of_file(&bytes),
            engine: ENGINE_ID,
            tool: tool_key(&identities(tool), b""),
        };
        let db = Database::open(&folder.path().join("db"), Access::ReadWrite).unwrap();
        Self {
            _folder: folder,
            image,
            key,
            db,
            tool,
        }
    }

    fn translate(&self, base: ImageBase) -> Fragment {
        let request = Request {
            pc: ImageOff(AT as i32).at(base),
            image: base,
            context: Context::CANONICAL,
            bytes: CODE,
            end: BytesEnd::Limit,
            max_source: None,
            shape: ppin_relocator::Shape::STRAIGHT,
            sequences: &[],
            arrives: false,
            optimize: Optimize::ALL,
            sealed: ImageRange::NONE,
            steady: false,
            bodies: None,
        };
        compile(&request, &*ppin_tools::by_name(self.tool).unwrap())
    }

    /// Publishes a unit with this one fragment.
    fn publish(&self, fragment: &Fragment, base: ImageBase, label: &str) {
        let source = &CODE[..fragment.source_len as usize];
        let pieces = [Piece {
            fragment: FragmentRef::from(fragment),
            flags: 0,
            source_hash: source_hash(source),
            tool: &[],
        }];
        let low = base.0 < 1 << 31;
        let displacement = if low { 0x2000_0000 } else { -0x1000_0000 };
        let options = options(low, Optimize::ALL);
        let key = Key {
            tool: tool_key(&identities(self.tool), &options),
            ..self.key
        };
        let spec = UnitSpec {
            key,
            displacement,
            image_base: base,
            image_path: self.image.as_os_str().as_bytes(),
            label: label.as_bytes(),
            explored: false,
            entrances: false,
            fragments: &pieces,
        };
        let dir = self.db.path().join(ppin_persist::paths::unit_dir(&key));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .unwrap();
        let name = format!("00000000-{:016x}.unit", fs::read_dir(&dir).unwrap().count());
        fs::write(dir.join(name), freeze(&spec).unwrap()).unwrap();
        assert_eq!(self.db.verify(|_, _| ()).unwrap().damage, []);
    }

    fn again(&self) -> Again {
        all(&self.db, |_, _| ()).unwrap()
    }
}

const HIGH: ImageBase = ImageBase(0x5555_5555_4000);

#[test]
fn what_was_made_like_this_is_the_same_again() {
    for tool in ["null", "bbcount", "icount"] {
        for base in [HIGH, ImageBase(0x40_0000), ImageBase(0)] {
            let world = World::new(tool);
            world.publish(&world.translate(base), base, &label(tool));
            let again = world.again();
            assert_eq!(
                (again.compared, &again.skipped[..]),
                (1, &[][..]),
                "{tool} {base:?}"
            );
            assert_eq!(again.differ, [], "{tool} {base:?}");
        }
    }
}

#[test]
fn every_doctored_part_is_found() {
    type Doctor = fn(&mut Fragment);
    let doctors: [(&str, Doctor); 7] = [
        ("code", |f| f.hot[0] ^= 1),
        ("records", |f| f.cold.push(0)),
        ("slots", |f| {
            *f.slots.last_mut().unwrap() = ppin_relocator::SlotInit::ImageCounters
        }),
        ("exits", |f| f.exits[0].target.0 += 1),
        ("relocations", |f| f.relocs[0].pc_bias += 1),
        ("pc map", |f| {
            let spilled = SpillSet::at_home(0x7f);
            f.pc_map = f
                .pc_map
                .iter()
                .map(|row| PcRow { spilled, ..row })
                .collect();
        }),
        ("extent", |f| f.instructions += 1),
    ];
    for (what, doctor) in doctors {
        let world = World::new("null");
        let mut fragment = world.translate(HIGH);
        doctor(&mut fragment);
        world.publish(&fragment, HIGH, &label("null"));
        let again = world.again();
        let found: Vec<_> = again.differ.iter().map(|differs| differs.what).collect();
        assert_eq!(found, [what]);
        assert_eq!(again.differ[0].head, ImageOff(AT as i32));
    }
}

#[test]
fn code_instrumented_otherwise_differs() {
    let world = World::new("bbcount");
    let plain = World {
        tool: "null",
        ..World::new("null")
    }
    .translate(HIGH);
    world.publish(&plain, HIGH, &label("bbcount"));
    assert_eq!(world.again().differ.len(), 1);
}

#[test]
fn a_changed_image_is_skipped() {
    let world = World::new("null");
    world.publish(&world.translate(HIGH), HIGH, &label("null"));
    fs::write(&world.image, b"something else").unwrap();
    let again = world.again();
    assert_eq!((again.compared, again.differ.len()), (0, 0));
    assert!(again.skipped[0].why.contains("has changed"), "{again:?}");
}

#[test]
fn what_cannot_be_made_again_is_skipped_with_the_reason() {
    let mut world = World::new("null");
    let hash = "ab".repeat(32);
    let labels = [
        (
            label("icount"),
            "made with other tools or knobs than it says",
        ),
        (format!("--tool={hash} nothing"), "there is no tool nothing"),
        (
            format!("--tool={hash} icount"),
            "made with another build of the tool icount",
        ),
        (
            format!("--tool={hash} /no/such.so"),
            "cannot load the tool /no/such.so: No such file",
        ),
    ];
    for (label, _) in &labels {
        world.publish(&world.translate(HIGH), HIGH, label);
    }
    let skipped = world.again().skipped;
    for (_, why) in labels {
        assert!(
            skipped.iter().any(|s| s.why.starts_with(why)),
            "{why}: {skipped:?}"
        );
    }
    world.key.engine = [7; 32];
    world.publish(&world.translate(HIGH), HIGH, &label("null"));
    let skipped = world.again().skipped;
    assert!(
        skipped
            .iter()
            .any(|s| s.why.contains("another build of ppin"))
    );
}

#[test]
fn the_tool_of_a_unit_may_be_an_object_that_lies_anywhere() {
    let mut world = World::new("bbcount");
    let path = world.image.with_file_name("mine.so");
    fs::write(&path, Found::by_word("bbcount").unwrap().bytes()).unwrap();
    let found = Found::by_word(path.to_str().unwrap()).unwrap();
    let label = Label::of_run(&[found.chosen], Optimize::ALL).to_string();
    world.publish(&world.translate(HIGH), HIGH, &label);
    let again = world.again();
    assert_eq!(
        (again.compared, again.differ.len(), again.skipped.len()),
        (1, 0, 0)
    );
    fs::write(&path, Found::by_word("icount").unwrap().bytes()).unwrap();
    let again = world.again();
    assert!(
        again.skipped[0].why.contains("has changed since"),
        "{again:?}"
    );
    world.tool = "icount";
    world.publish(&world.translate(HIGH), HIGH, &label);
    assert_eq!(world.again().compared, 0);
}
