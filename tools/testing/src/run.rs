//! Running a sample: translated as the engine would, and what was inserted done.

use super::calls::{Found, argument, calls};
use super::{Process, Sample};
use ppin_abi::addr::ImageOff;
use ppin_abi::counters::Cells;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::{ArgKind, CallArg, MAX_ARGS, X87_POINTER};
use ppin_api::{AnyFunction, Call, Function, RoutineId, ThreadId, Tool};
use ppin_jit::{BytesEnd, Request, compile};
use ppin_relocator::{CountRow, Fragment};

impl Process {
    /// Lets `tool` instrument the trace at the head of `sample`, and executes that
    /// once: conditional branches are not taken, no instruction faults. Counts come
    /// before calls.
    pub fn run(&self, tool: &dyn Tool, sample: &Sample) {
        let fragment = translate(tool, sample);
        for row in &fragment.counts {
            self.count(row, tool, sample);
        }
        // The engine's own routine is no part of the tool.
        for call in calls(&fragment)
            .iter()
            .filter(|call| call.routine != X87_POINTER)
        {
            let mut args = [0; MAX_ARGS];
            for (value, arg) in args.iter_mut().zip(&call.args) {
                *value = argument(arg, sample, Self::base(sample.image));
            }
            let routine = &tool.routines()[usize::from(call.routine)];
            match routine.function {
                AnyFunction::Plain(function) => {
                    self.call(tool, function, (call, sample.thread), &args);
                }
                AnyFunction::WithHost(_) => {
                    let with_host = Call {
                        tool,
                        host: self,
                        args,
                    };
                    tool.analyse(RoutineId(call.routine), &with_host);
                }
            }
        }
    }

    /// Calls a plain routine with the thread's copies of states.
    fn call(
        &self,
        tool: &dyn Tool,
        function: &dyn Function,
        (call, thread): (&Found, ThreadId),
        args: &[u64],
    ) {
        let is_state = |arg: &CallArg| arg.kind == ArgKind::State as u8;
        let mut scalars = Vec::new();
        let mut numbers = Vec::new();
        for (arg, value) in call.args.iter().zip(args) {
            match is_state(arg) {
                true => numbers.push(arg.value[0] as u16),
                false => scalars.push(*value),
            }
        }
        self.with_states(tool, thread, &numbers, |states| {
            function.call(states, &scalars);
        });
    }

    fn count(&self, row: &CountRow, tool: &dyn Tool, sample: &Sample) {
        let amount = u64::from(row.amount);
        let cells = Cells::new(tool.global_counters(), Optimize::ALL);
        if row.image {
            self.count_image(sample.image, row.counter / 8, amount);
        } else if let Some(index) = cells.counter_at(row.counter) {
            self.count_global(sample.thread, index, amount);
        }
    }
}

fn translate(tool: &dyn Tool, sample: &Sample) -> Fragment {
    let image = Process::base(sample.image);
    let request = Request {
        pc: ImageOff(sample.offset).at(image),
        image,
        context: sample.context,
        bytes: &sample.bytes,
        end: BytesEnd::Limit,
        max_source: None,
        sequences: &[],
        // By records, which say what is called.
        optimize: Optimize::ALL.without(Optimize::CALLS),
    };
    compile(&request, tool)
}
