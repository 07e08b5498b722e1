//! Analysis routines.

use crate::host::Host;
use core::any::Any;
use ppin_abi::record::MAX_ARGS;

/// A function that translated code calls.
#[derive(Clone, Copy, Debug)]
pub struct Routine {
    /// Name, for listings of translated code.
    pub name: &'static str,
    /// The function.
    pub function: RoutineFn,
}

/// Runs on the thread that executes the instruction, at the same time as others.
/// It must not wait for another thread: signals are held back while it runs.
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

/// A loaded tool in memory: what its routines consist of.
#[derive(Clone, Copy, Debug)]
pub struct ToolImage<'a> {
    /// Address of the object's first byte.
    pub base: u64,
    /// Its read-only pieces, code and constants, in order of their addresses: where each
    /// begins from `base`, and its bytes.
    pub pieces: &'a [(u64, &'a [u8])],
}

impl<'a> ToolImage<'a> {
    /// The bytes at `address`, up to the end of their piece.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&'a [u8]> {
        let from_base = address.checked_sub(self.base)?;
        self.pieces.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(from_base.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{
        Counters, FileError, FileId, Files, ImageId, ImageInfo, Images, Program, ThreadId,
        ThreadInfo, Threads,
    };

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

    impl Files for Idle {
        fn open(&self, _path: &str) -> Result<FileId, FileError> {
            Err(FileError(2))
        }
        fn append(&self, _file: FileId, _bytes: &[u8]) -> Result<(), FileError> {
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

    #[test]
    fn an_image_gives_the_bytes_behind_an_address() {
        let pieces: [(u64, &[u8]); 2] = [(0, b"head"), (0x1000, b"code")];
        let image = ToolImage {
            base: 0x5000,
            pieces: &pieces,
        };
        assert_eq!(image.at(0x6001), Some(&b"ode"[..]));
        assert_eq!(image.at(0x5003), Some(&b"d"[..]));
        for outside in [0x4fff, 0x5004, 0x6004, u64::MAX] {
            assert_eq!(image.at(outside), None, "{outside:#x}");
        }
    }
}
