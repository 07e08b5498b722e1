//! Running a sample: translated as the engine would, and what was inserted done.

use super::calls::{Found, argument, calls};
use super::{Process, Sample};
use ppin_abi::addr::{ImageOff, ImageRange};
use ppin_abi::counters::Cells;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::{ArgKind, BUFFER_APPEND, CallArg, MAX_ARGS, X87_POINTER};
use ppin_api::{AnyFunction, BufferId, Call, Function, RoutineId, ThreadId, Tool};
use ppin_jit::{BytesEnd, Request, compile};
use ppin_relocator::{CountRow, Fragment, Shape};

impl Process {
    /// Lets `tool` instrument the trace at the head of `sample`, and executes that
    /// once: conditional branches are not taken, no instruction faults, and those that have a
    /// predicate do their work. Counts come
    /// before calls and records. Each record is handed to the tool at once.
    ///
    /// # Panics
    /// If the tool calls a routine that it does not have.
    pub fn run(&self, tool: &dyn Tool, sample: &Sample) {
        let fragment = translate(tool, sample);
        for row in &fragment.counts {
            self.count(row, tool, sample);
        }
        let mut sample = sample.clone();
        // The engine's own routine is no part of the tool.
        for call in calls(&fragment)
            .iter()
            .filter(|call| call.routine != X87_POINTER)
        {
            let (first, then) = call.parts();
            let result = self.make(tool, &first, &sample);
            if let Some(then) = then.filter(|_| result != 0) {
                self.make(tool, &then, &sample);
            }
            if let Some(register) = call.into() {
                sample.registers[register] = result;
            }
        }
    }

    /// Makes one call; its result, 0 if it has none.
    fn make(&self, tool: &dyn Tool, call: &Found, sample: &Sample) -> u64 {
        let mut args = [0; MAX_ARGS];
        for (value, arg) in args.iter_mut().zip(&call.args) {
            *value = argument(arg, sample, Self::base(sample.image));
        }
        if let Some(buffer) = buffer_of(call.routine) {
            let record = record(tool, buffer, &args[..call.args.len()]);
            tool.buffer_full(self, buffer, sample.thread, &record);
            return 0;
        }
        let routine = &tool.routines()[usize::from(call.routine)];
        match routine.function {
            AnyFunction::Plain(function) => self.call(tool, function, (call, sample.thread), &args),
            AnyFunction::WithHost(_) => {
                let with_host = Call {
                    tool,
                    host: self,
                    args,
                };
                tool.analyse(RoutineId(call.routine), &with_host);
                0
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
    ) -> u64 {
        let is_state = |arg: &CallArg| arg.kind == ArgKind::State as u8;
        let mut scalars = Vec::new();
        let mut numbers = Vec::new();
        for (arg, value) in call.args.iter().zip(args) {
            match is_state(arg) {
                true => numbers.push(arg.value[0] as u16),
                false => scalars.push(*value),
            }
        }
        let mut result = 0;
        self.with_states(tool, thread, &numbers, |states| {
            result = function.call(states, &scalars);
        });
        result
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

/// The buffer that a call of `routine` appends to.
fn buffer_of(routine: u16) -> Option<BufferId> {
    let buffer = routine.checked_sub(BUFFER_APPEND)?;
    (usize::from(buffer) < ppin_api::MAX_BUFFERS).then_some(BufferId(buffer))
}

/// A record with the fields `values`.
fn record(tool: &dyn Tool, buffer: BufferId, values: &[u64]) -> Vec<u8> {
    let declared = tool.buffers()[usize::from(buffer.0)];
    let mut record = vec![0; declared.size as usize];
    for (field, value) in declared.fields.iter().zip(values) {
        let (at, len) = (field.offset as usize, field.bytes as usize);
        record[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }
    record
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
        shape: Shape::STRAIGHT,
        sequences: &[],
        // By records, which say what is called and appended.
        arrives: false,
        optimize: Optimize::ALL
            .without(Optimize::CALLS)
            .without(Optimize::BUFFERS),
        sealed: ImageRange::NONE,
        steady: false,
        bodies: None,
    };
    compile(&request, tool)
}
