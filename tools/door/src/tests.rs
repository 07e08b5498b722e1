//! A tool through its door is the tool itself.

use crate::outside::Pieces;
use crate::table::{Door, KnobRow, Services, Text, knob_rows};
use crate::{Plugged, Several, joined};
use ppin_api::{
    About, Arg, Call, Counter, Format, Host, IPoint, ImageId, ImageInfo, Knob, Merge, Predicate,
    Reg, Report, Routine, RoutineId, State, StateId, ThreadId, Tool, Trace,
};
use ppin_testing::{Process, Sample};
use std::sync::Mutex;

/// Notes what it is told, in a file and in its report.
#[derive(Default)]
struct Probe {
    word: String,
    told: Mutex<Vec<String>>,
}

const KNOBS: &[Knob] = &[Knob {
    name: "word",
    default: "",
    help: "a word",
    changes_code: true,
    writes_file: false,
}];
const ABOUT: About = About {
    name: "probe",
    summary: "notes what it is told",
    knobs: KNOBS,
};
static ROWS: [KnobRow; KNOBS.len()] = knob_rows(KNOBS);
static DOOR: Door = Door::of::<Probe>(&ABOUT, &ROWS);
static SERVICES: Services = Services::new(fail);

extern "C" fn fail(why: Text<'_>) -> ! {
    eprintln!("{}", why.text());
    std::process::abort()
}

impl Probe {
    fn note(&self, text: String) {
        self.told.lock().unwrap().push(text);
    }
}

/// What routines add to.
#[derive(Default, Clone, Copy)]
struct Sum(u64);

impl Merge for Sum {
    fn merge(&mut self, other: &Self) {
        self.0 += other.0;
    }
}

extern "C" fn add(sum: &mut Sum, number: u64, twice: bool) {
    sum.0 += number << u8::from(twice);
}

extern "C" fn is_long(sum: &mut Sum, number: u32) -> bool {
    sum.0 += 1;
    number > 2
}

impl Tool for Probe {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn configure(&mut self, knobs: &[(&str, &str)]) -> Result<(), String> {
        match knobs {
            [] => Ok(()),
            [("word", word)] => {
                self.word = (*word).into();
                Ok(())
            }
            other => Err(format!("not {other:?}")),
        }
    }

    fn distinguishes_blocks(&self) -> bool {
        !self.word.is_empty()
    }

    fn global_counters(&self) -> u32 {
        1 + self.word.len() as u32
    }

    fn image_counters(&self) -> u32 {
        2
    }

    fn routines(&self) -> &'static [Routine] {
        const LOOK: Routine = Routine::with_host("look", |call| {
            let probe: &Probe = call.tool().unwrap();
            probe.note(format!("{:?} {}", call.args, call.host.global_total(0)));
        });
        const ADD: Routine = Routine::of("add", &(add as extern "C" fn(&mut Sum, u64, bool)));
        const LONG: Routine = Routine::of("long", &(is_long as extern "C" fn(&mut Sum, _) -> _));
        const ALL: &[Routine] = &[LOOK, LOOK, ADD, LONG];
        ALL
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Sum>("other"), State::of::<Sum>("sum")];
        STATES
    }

    /// Shows in its insertions all that a view tells.
    fn instrument(&self, trace: &Trace<'_>) {
        for bbl in trace.bbls().filter(|bbl| !bbl.is_continuation()) {
            let first = bbl.first();
            first
                .insert_count(IPoint::Before, Counter::Image(1), 3)
                .unwrap();
        }
        for ins in trace.ins() {
            ins.insert_count(IPoint::Before, Counter::Global(0), 1)
                .unwrap();
            let shape = u64::from(ins.opcode().index()) << 8
                | u64::from(ins.len()) << 4
                | ins.category() as u64;
            let repeated = u64::from(ins.is_repeated());
            let args = [
                Arg::InsAddr,
                Arg::NextAddr,
                Arg::Const(shape),
                Arg::Const(repeated),
            ];
            ins.insert_call(IPoint::Before, RoutineId(0), &args)
                .unwrap();
            let added = [Arg::State(StateId(1)), Arg::Const(shape), Arg::Const(1)];
            ins.insert_call(IPoint::Anywhere, RoutineId(2), &added)
                .unwrap();
            let length = [Arg::State(StateId(0)), Arg::Const(ins.len().into())];
            let long = ins.insert_if(IPoint::Before, RoutineId(3), &length);
            let into = ins.insert_call_into(IPoint::Before, Reg::R9, RoutineId(3), &length);
            into.unwrap();
            let text = [Arg::Const(0x600d), Arg::InsAddr];
            long.unwrap().then(RoutineId(1), &text).unwrap();
            let _ = ins.insert_call(IPoint::After, RoutineId(0), &[Arg::ThreadId]);
            let told = ins.predicate() == Predicate::Told;
            let args = [Arg::Const(told.into()), Arg::Const(0xd0), Arg::InsAddr];
            let made = ins.insert_predicated_call(IPoint::Before, RoutineId(1), &args);
            made.unwrap();
            let _ = ins.insert_call(IPoint::TakenBranch, RoutineId(1), &[Arg::BranchTarget]);
            for n in 0..ins.memory_operands().len() {
                let args = [Arg::MemoryEa(n), Arg::MemorySize(n), Arg::Reg(Reg::Rbx)];
                ins.insert_call(IPoint::Before, RoutineId(1), &args)
                    .unwrap();
            }
        }
    }

    fn start(&self, host: &dyn Host) {
        self.note(format!("start {}", host.program()));
    }

    fn thread_start(&self, _: &dyn Host, thread: ThreadId) {
        self.note(format!("begin {thread:?}"));
    }

    fn thread_fini(&self, _: &dyn Host, thread: ThreadId) {
        self.note(format!("end {thread:?}"));
    }

    fn image_load(&self, _: &dyn Host, image: &ImageInfo) {
        self.note(format!("load {image:?}"));
    }

    fn image_unload(&self, _: &dyn Host, image: &ImageInfo) {
        self.note(format!("unload {image:?}"));
    }

    fn fork_child(&self, host: &dyn Host) {
        self.note(format!("fork {}", host.process_id()));
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        for (n, info) in host.threads().iter().enumerate() {
            let count = host.global_of(info.id, 0);
            self.note(format!("{n} {info:?} {count}"));
        }
        let images = host.images();
        let sum: u64 = images.iter().map(|i| host.image_total(i.id, 1)).sum();
        let file = host.open("told.%p");
        let appended = file.and_then(|file| host.append_parts(file, &[b"a ", b"line"]));
        let human = report.format() == Format::Human;
        let told = self.told.lock().unwrap();
        let states = [StateId(0), StateId(1), StateId(2)].map(|id| {
            let sum = host.merged(id)?.into_any().downcast::<Sum>();
            sum.ok().map(|sum| sum.0)
        });
        let _ = writeln!(
            report,
            "{human} {images:?} {sum} {states:?} {appended:?} {told:#?}"
        );
    }
}

/// Instructions of [`samples`] that are longer than two bytes.
const LONG: usize = 6;

fn plugged() -> Plugged {
    Plugged::through(&DOOR, &ABOUT, Pieces::default(), &SERVICES)
}

/// Calls, branches, all kinds of operands; then a trace that goes on, in another image.
fn samples(process: &Process) -> Vec<Sample> {
    let codes: [&[u8]; 4] = [
        &[
            0x48, 0x8b, 0x44, 0x8b, 0x10, 0x64, 0x8b, 4, 0x25, 8, 0, 0, 0, 0xc3,
        ],
        &[
            0x88, 5, 0x20, 0, 0, 0, 0xf3, 0xa4, 0x74, 0x10, 0x67, 0x89, 0x18, 0xeb, 0x80,
        ],
        &[0x65, 0x48, 0xff, 0x0c, 0xd0, 0xe8, 0x40, 0, 0, 0],
        &[0x90, 0x0f, 5],
    ];
    let mut samples: Vec<_> = codes.iter().map(|code| Sample::new(code)).collect();
    for sample in &mut samples {
        sample.registers = std::array::from_fn(|n| 0x1000 * n as u64);
        sample.segments = [0x10_0000, 0x20_0000];
    }
    samples[2].image = process.add_image("/lib/more.so");
    samples[3].thread = process.add_thread();
    samples[3].context = ppin_testing::CONTINUATION;
    samples
}

/// What comes of `tool` when it is told all that there is to be told.
fn outcome(tool: &dyn Tool) -> (String, String, Option<String>) {
    let process = Process::new();
    let samples = samples(&process);
    tool.start(&process);
    tool.thread_start(&process, ThreadId(1));
    let image = ImageInfo {
        id: ImageId(1),
        path: "/lib/more.so".into(),
        base: ppin_api::ImageBase(7),
    };
    tool.image_load(&process, &image);
    samples.iter().for_each(|sample| process.run(tool, sample));
    tool.image_unload(&process, &image);
    tool.thread_fini(&process, ThreadId(1));
    let human = ppin_testing::report(tool, &process, Format::Human);
    process.fork();
    tool.fork_child(&process);
    let json = ppin_testing::report(tool, &process, Format::Json);
    (human, json, process.file("told.1000"))
}

#[test]
fn all_that_crosses_arrives() {
    let direct = outcome(&Probe::default());
    assert!(direct.0.contains("load ImageInfo") && direct.1.contains("fork 1001"));
    assert!(direct.0.lines().count() > 30, "{}", direct.0);
    // What is decided about is called for some instructions only.
    assert_eq!(direct.0.matches("[24589, ").count(), LONG, "{}", direct.0);
    // One of them repeats.
    assert_eq!(direct.0.matches("[1, 208, ").count(), 1, "{}", direct.0);
    assert_eq!(outcome(&plugged()), direct);
}

#[test]
fn a_tool_takes_and_refuses_knobs_through_its_door() {
    let mut tool = plugged();
    assert!(!tool.distinguishes_blocks());
    assert_eq!(tool.configure(&[("word", "ab")]), Ok(()));
    assert!(tool.distinguishes_blocks());
    assert_eq!((tool.global_counters(), tool.image_counters()), (3, 2));
    let why = tool.configure(&[("other", "x")]).unwrap_err();
    assert_eq!(why, "not [(\"other\", \"x\")]");
    assert_eq!((tool.about(), tool.routines().len()), (&ABOUT, 4));
}

#[test]
fn a_routine_that_there_is_not_is_not_called() {
    let (tool, process) = (plugged(), Process::new());
    let call = Call {
        tool: &tool,
        host: &process,
        args: [0; 6],
    };
    tool.analyse(RoutineId(2), &call);
    assert_eq!(
        ppin_testing::report(&tool, &process, Format::Human)
            .matches("[0, ")
            .count(),
        0
    );
}

#[test]
fn each_of_several_tools_sees_and_reports_its_own() {
    let alone = outcome(&Probe::default());
    let several = Several::new(vec![
        Box::new(Probe::default()),
        Box::new(plugged()),
        Box::new(Probe::default()),
    ]);
    let several = several.unwrap();
    assert_eq!(
        (several.global_counters(), several.image_counters()),
        (3, 6)
    );
    assert_eq!(
        (several.name(), several.routines().len()),
        ("probe+probe+probe", 12)
    );
    let (human, json, file) = outcome(&several);
    assert_eq!(human, alone.0.repeat(3));
    assert_eq!(json, alone.1.repeat(3));
    assert_eq!(file, alone.2.map(|line| line.repeat(3)));
}

#[test]
fn no_tool_is_null_and_one_is_itself() {
    assert_eq!(joined(Vec::new()).unwrap().name(), "null");
    let one = joined(vec![Box::new(plugged())]).unwrap();
    assert_eq!(one.name(), "probe");
    let none = Several::new(Vec::new()).unwrap();
    let process = Process::new();
    process.run(&none, &Sample::new(&[0x90, 0xc3]));
    assert_eq!(ppin_testing::report(&none, &process, Format::Human), "");
}

#[test]
fn more_than_there_may_be_is_refused() {
    let tools = (0..65).map(|_| Box::new(Probe::default()) as Box<dyn Tool>);
    let why = Several::new(tools.collect()).unwrap_err().to_string();
    assert_eq!(
        why,
        "the tools have 68 routines together, and there may be 64"
    );
}
