//! Analysis routines.

use crate::function::Function;
use crate::host::Host;
use core::any::Any;
use core::fmt;
use ppin_abi::record::MAX_ARGS;

/// A function that translated code calls. It runs on the thread that executes the instruction,
/// while others do the same on theirs. It must not wait for another thread: signals are held back
/// while it runs.
#[derive(Clone, Copy)]
pub struct Routine {
    /// Name, for listings of translated code.
    pub name: &'static str,
    /// The function.
    pub function: AnyFunction,
}

/// The function of a routine.
#[derive(Clone, Copy)]
pub enum AnyFunction {
    /// A plain function with typed parameters.
    Plain(&'static dyn Function),
    /// One that also needs the tool and the host. Costs an entry of the VM for each call.
    WithHost(RoutineFn),
}

impl Routine {
    /// A plain function: `Routine::of("count", &(count as extern "C" fn(&mut Counts, usize)))`.
    #[must_use]
    pub const fn of(name: &'static str, function: &'static dyn Function) -> Self {
        let function = AnyFunction::Plain(function);
        Self { name, function }
    }

    /// A function that also needs the tool and the host.
    #[must_use]
    pub const fn with_host(name: &'static str, function: RoutineFn) -> Self {
        let function = AnyFunction::WithHost(function);
        Self { name, function }
    }

    /// Calls it, if it needs the tool and the host.
    pub fn call_with_host(&self, call: &Call<'_>) {
        if let AnyFunction::WithHost(function) = self.function {
            function(call);
        }
    }

    /// The plain function, if it is one.
    #[must_use]
    pub const fn plain(&self) -> Option<&'static dyn Function> {
        match self.function {
            AnyFunction::Plain(function) => Some(function),
            AnyFunction::WithHost(_) => None,
        }
    }
}

impl fmt::Debug for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Routine").field(&self.name).finish()
    }
}

/// A function that gets its arguments together with the tool and the host.
pub type RoutineFn = fn(&Call<'_>);

/// What an analysis routine is called with.
pub struct Call<'a> {
    /// The tool itself; see [`Call::tool`].
    pub tool: &'a dyn Any,
    /// The process around it.
    pub host: &'a dyn Host,
    /// Values of the arguments named at insertion, in order; the rest are 0.
    pub args: [u64; MAX_ARGS],
}

impl Call<'_> {
    /// Most arguments that a call has.
    pub const MAX_ARGS: usize = MAX_ARGS;

    /// The tool by its type, for its state; `None` if it is another tool.
    #[must_use]
    pub fn tool<T: Any>(&self) -> Option<&T> {
        self.tool.downcast_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{
        Counters, FileError, FileId, Files, ImageId, ImageInfo, Images, Program, States, ThreadId,
        ThreadInfo, Threads,
    };
    use crate::state::{StateCopy, StateId};

    /// A process in which nothing has happened yet.
    struct Idle;

    impl Counters for Idle {
        fn global_total(&self, _index: u32) -> u64 {
            0
        }
        fn global_of(&self, _thread: ThreadId, _index: u32) -> u64 {
            0
        }
        fn image_total(&self, _image: ImageId, _index: u32) -> u64 {
            0
        }
    }

    impl Threads for Idle {
        fn threads(&self) -> Vec<ThreadInfo> {
            Vec::new()
        }
    }

    impl Images for Idle {
        fn images(&self) -> Vec<ImageInfo> {
            Vec::new()
        }
    }

    impl Program for Idle {
        fn process_id(&self) -> u32 {
            7
        }
        fn program(&self) -> String {
            String::new()
        }
    }

    impl States for Idle {
        fn merged(&self, _id: StateId) -> Option<Box<dyn StateCopy>> {
            None
        }
    }

    impl Files for Idle {
        fn open(&self, _path: &str) -> Result<FileId, FileError> {
            Err(FileError(2))
        }
        fn append_parts(&self, _file: FileId, _parts: &[&[u8]]) -> Result<(), FileError> {
            Err(FileError(1234))
        }
    }

    #[test]
    fn a_routine_gets_its_tool_by_type_and_the_services_of_the_host() {
        let tool = String::from("a tool's state");
        let call = Call {
            tool: &tool,
            host: &Idle,
            args: [0; MAX_ARGS],
        };
        assert_eq!(call.tool::<String>(), Some(&tool));
        assert!(call.tool::<u32>().is_none());
        assert_eq!(call.host.process_id(), 7);
        let (open, append) = (call.host.open("x"), call.host.append(FileId(0), b""));
        assert_eq!(open.unwrap_err().to_string(), "No such file or directory");
        assert_eq!(append.unwrap_err().to_string(), "error 1234 of the kernel");
    }
}
