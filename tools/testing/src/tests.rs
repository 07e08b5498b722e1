use super::*;
use ppin_api::{
    About, Arg, Call, Counter, Counters, Files, IPoint, Reg, Routine, RoutineId, Trace,
};
use std::sync::Mutex;

/// Keeps the arguments of its one routine.
#[derive(Default)]
struct Keeper(Mutex<Vec<[u64; 6]>>);

impl Tool for Keeper {
    fn about(&self) -> &'static About {
        &About {
            name: "keeper",
            summary: "keeps arguments",
            knobs: &[],
        }
    }

    fn routines(&self) -> &'static [Routine] {
        const KEEP: Routine = Routine::with_host("keep", keep);
        &[KEEP]
    }

    fn global_counters(&self) -> u32 {
        4
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            for (n, _) in ins.memory_operands().iter().enumerate() {
                let args = [
                    Arg::InsAddr,
                    Arg::NextAddr,
                    Arg::MemoryEa(n),
                    Arg::MemorySize(n),
                    Arg::Reg(Reg::Rbx),
                    Arg::ThreadId,
                ];
                let call = ins.insert_call(IPoint::Before, RoutineId(0), &args);
                call.unwrap();
            }
            let count = ins.insert_count(IPoint::Before, Counter::Global(3), 2);
            count.unwrap();
        }
    }
}

fn keep(call: &Call<'_>) {
    let keeper: &Keeper = call.tool().unwrap();
    keeper.0.lock().unwrap().push(call.args);
}

#[test]
fn calls_are_made_in_order_with_their_arguments() {
    let process = Process::new();
    let thread = process.add_thread();
    let mut sample = Sample::new(&[
        0x48, 0x8b, 0x44, 0x8b, 0x10, // mov rax, [rbx + rcx * 4 + 0x10]
        0x64, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, // mov eax, fs:[0x28]
        0x88, 0x05, 0x20, 0, 0, 0,    // mov [rip + 0x20], al
        0xc3, // ret
    ]);
    sample.thread = thread;
    sample.registers[Reg::Rbx as usize] = 0x8000;
    sample.registers[Reg::Rcx as usize] = 2;
    sample.registers[Reg::Rsp as usize] = 0x7000;
    sample.segments[0] = 0x10_0000;
    let keeper = Keeper::default();
    process.run(&keeper, &sample);
    let pc = Sample::PC;
    let want = [
        [pc, pc + 5, 0x8018, 8, 0x8000, 1],
        [pc + 5, pc + 13, 0x10_0028, 4, 0x8000, 1],
        [pc + 13, pc + 19, pc + 19 + 0x20, 1, 0x8000, 1],
        [pc + 19, pc + 20, 0x7000, 8, 0x8000, 1],
    ];
    assert_eq!(*keeper.0.lock().unwrap(), want);
    assert_eq!(process.global_of(thread, 3), 8);
    assert_eq!(process.global_total(3), 8);
}

#[test]
fn files_keep_what_is_appended() {
    let process = Process::new();
    let file = process.open("out.%p").unwrap();
    process.append(file, b"one").unwrap();
    process.append(file, b" two").unwrap();
    assert_eq!(process.file("out.1000").unwrap(), "one two");
    process.fill_disk();
    assert!(process.append(file, b"three").is_err());
    assert!(process.open("other").is_err());
}
