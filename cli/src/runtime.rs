//! What this executable carries for programs: the runtime ELF, and the objects of the bundled
//! tools.

use ppin_abi::boot::RuntimeSpan;
use ppin_inject::elf::Plan;

/// Page-aligned in memory, hence in the file, so that it can be mapped from there.
#[repr(C, align(4096))]
struct Pages<T: ?Sized>(T);

/// The runtime ELF, and [`ENGINE_ID`] behind it.
static CARRIED: &Pages<[u8]> = &Pages(*include_bytes!(concat!(env!("OUT_DIR"), "/runtime.elf")));

/// SHA-256 of the runtime ELF: the engine's identity in the keys of persisted code.
pub const ENGINE_ID: [u8; 32] = include!(concat!(env!("OUT_DIR"), "/engine_id.in"));

/// A tool that comes with ppin.
pub struct Bundled {
    /// Its name, as its own description has it.
    pub name: &'static str,
    pages: &'static Pages<[u8]>,
    /// SHA-256 of its object.
    pub hash: [u8; 32],
}

impl Bundled {
    /// Its object.
    pub fn bytes(&self) -> &'static [u8] {
        &self.pages.0
    }

    /// Where that lies in this executable.
    pub fn span(&self) -> Option<RuntimeSpan> {
        ppin_inject::embedded_span(self.bytes())
    }
}

/// The bundled tools, by name.
pub static TOOLS: &[Bundled] = &include!(concat!(env!("OUT_DIR"), "/tools.in"));

fn runtime() -> &'static [u8] {
    let (runtime, _) = CARRIED.0.split_at(CARRIED.0.len() - ENGINE_ID.len());
    runtime
}

/// How the runtime is mapped.
pub fn plan() -> Option<Plan> {
    ppin_inject::elf::plan(runtime())
}

/// Where the runtime lies in this executable. Its identity lies behind it.
pub fn span() -> Option<RuntimeSpan> {
    ppin_inject::embedded_span(runtime())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::path::{Path, PathBuf};

    #[test]
    fn the_executable_holds_the_runtime_at_that_place() {
        let span = span().expect("page-aligned");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let (start, len) = (span.offset as usize, span.len as usize);
        assert_eq!(own[start..start + len], *runtime());
        assert_eq!(own[start + len..][..32], ENGINE_ID);
        assert!(ppin_inject::elf::plan(runtime()).is_some());
    }

    /// Where it was built must not be in its bytes: they are its identity.
    #[test]
    fn runtime_and_tools_name_no_folder_of_this_machine() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
        let cargo = env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
        let folders = [here.parent().map(Path::to_owned), cargo];
        let words = folders.iter().flatten().map(|path| path.as_os_str());
        for word in words.chain(["registry/src".as_ref(), "rustlib/src".as_ref()]) {
            let tools = TOOLS.iter().map(Bundled::bytes);
            for carried in tools.chain([runtime()]) {
                let mut places = carried.windows(word.len());
                let found = places.any(|bytes| bytes == word.as_encoded_bytes());
                assert!(!found, "{}", word.display());
            }
        }
        // Names of source files, for messages about failures, are there.
        let place = b"vm/engine/src/";
        assert!(runtime().windows(place.len()).any(|bytes| bytes == place));
    }
}
