//! The process's side: counters, threads, images, files.

use ppin_abi::addr::ImageBase;
use ppin_api::{
    Counters, FileError, FileId, Files, ImageId, ImageInfo, Images, Program, StateCopy, StateId,
    States, ThreadId, ThreadInfo, Threads, Tool,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Base of the first image; the others follow 16 MiB apart.
pub const BASE: u64 = 0x5555_5555_0000;
const APART: u64 = 1 << 24;
/// Process id, and kernel id of the first thread.
const PROCESS: u32 = 1000;
/// "No space left on device".
const ENOSPC: FileError = FileError(28);

/// Process 1000, `/bin/sample`, with one thread and one image.
#[derive(Debug)]
pub struct Process {
    state: Mutex<State>,
    collected: Mutex<Collected>,
}

/// Copies of states, by thread and number, and a new one of each.
#[derive(Default)]
struct Collected {
    copies: BTreeMap<(ThreadId, u16), Box<dyn StateCopy>>,
    made: BTreeMap<u16, ppin_api::State>,
}

impl std::fmt::Debug for Collected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.copies.keys()).finish()
    }
}

#[derive(Debug)]
struct State {
    process: u32,
    threads: u32,
    images: Vec<String>,
    globals: BTreeMap<(ThreadId, u32), u64>,
    of_images: BTreeMap<(ImageId, u32), u64>,
    files: Vec<(String, Vec<u8>)>,
    full: bool,
}

impl Default for Process {
    fn default() -> Self {
        Self::new()
    }
}

impl Process {
    /// See the type.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                process: PROCESS,
                threads: 1,
                images: vec!["/bin/sample".into()],
                globals: BTreeMap::new(),
                of_images: BTreeMap::new(),
                files: Vec::new(),
                full: false,
            }),
            collected: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let poisoned = std::sync::PoisonError::into_inner;
        self.state.lock().unwrap_or_else(poisoned)
    }

    /// One more thread.
    pub fn add_thread(&self) -> ThreadId {
        let mut state = self.state();
        state.threads += 1;
        ThreadId(state.threads - 1)
    }

    /// One more image.
    pub fn add_image(&self, path: &str) -> ImageId {
        let mut state = self.state();
        state.images.push(path.to_owned());
        ImageId(state.images.len() as u32 - 1)
    }

    /// Files can no longer be opened or written.
    pub fn fill_disk(&self) {
        self.state().full = true;
    }

    /// It is its own forked child from now on: another process id, one thread that
    /// keeps its number, counters at zero. Tell the tool by [`ppin_api::Tool::fork_child`].
    pub fn fork(&self) {
        let mut state = self.state();
        state.process += 1;
        state.globals.clear();
        state.of_images.clear();
        self.collected().copies.clear();
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        let poisoned = std::sync::PoisonError::into_inner;
        self.collected.lock().unwrap_or_else(poisoned)
    }

    /// Calls `then` with copies of `thread` of the states `numbers` of `tool`.
    pub(super) fn with_states(
        &self,
        tool: &dyn Tool,
        thread: ThreadId,
        numbers: &[u16],
        then: impl FnOnce(&mut [&mut dyn Any]),
    ) {
        let mut collected = self.collected();
        let mut taken: Vec<Box<dyn StateCopy>> = Vec::new();
        for number in numbers {
            let state = tool.states()[usize::from(*number)];
            collected.made.insert(*number, state);
            let copy = collected.copies.remove(&(thread, *number));
            taken.push(copy.unwrap_or_else(|| state.make()));
        }
        let all = taken.iter_mut();
        let mut states: Vec<&mut dyn Any> = all.map(|copy| copy.as_mut().as_any_mut()).collect();
        then(&mut states);
        for (number, copy) in numbers.iter().zip(taken) {
            collected.copies.insert((thread, *number), copy);
        }
    }

    /// What the file at `path` holds, if it was opened.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The same, as bytes.
    #[must_use]
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let (_, bytes) = state.files.iter().find(|(name, _)| name == path)?;
        Some(bytes.clone())
    }

    pub(super) fn count_global(&self, thread: ThreadId, index: u32, amount: u64) {
        *self.state().globals.entry((thread, index)).or_default() += amount;
    }

    pub(super) fn count_image(&self, image: ImageId, index: u32, amount: u64) {
        *self.state().of_images.entry((image, index)).or_default() += amount;
    }

    pub(super) fn base(image: ImageId) -> ImageBase {
        ImageBase(BASE + APART * u64::from(image.0))
    }
}

impl Counters for Process {
    fn global_total(&self, index: u32) -> u64 {
        let state = self.state();
        let counts = state.globals.iter().filter(|((_, i), _)| *i == index);
        counts.map(|(_, count)| count).sum()
    }

    fn global_of(&self, thread: ThreadId, index: u32) -> u64 {
        let state = self.state();
        state.globals.get(&(thread, index)).copied().unwrap_or(0)
    }

    fn image_total(&self, image: ImageId, index: u32) -> u64 {
        let state = self.state();
        state.of_images.get(&(image, index)).copied().unwrap_or(0)
    }
}

impl States for Process {
    fn merged(&self, id: StateId) -> Option<Box<dyn StateCopy>> {
        let collected = self.collected();
        let mut sum = collected.made.get(&id.0)?.make();
        let copies = collected.copies.iter();
        for (_, copy) in copies.filter(|((_, number), _)| *number == id.0) {
            sum.as_mut().add(copy.as_ref());
        }
        Some(sum)
    }
}

impl Threads for Process {
    fn threads(&self) -> Vec<ThreadInfo> {
        let state = self.state();
        let info = |n| ThreadInfo {
            id: ThreadId(n),
            tid: state.process + n,
        };
        (0..state.threads).map(info).collect()
    }
}

impl Images for Process {
    fn images(&self) -> Vec<ImageInfo> {
        let state = self.state();
        let images = (0..).map(ImageId).zip(&state.images);
        let info = |(id, path): (ImageId, &String)| ImageInfo {
            id,
            path: path.clone(),
            base: Self::base(id),
        };
        images.map(info).collect()
    }
}

impl Program for Process {
    fn process_id(&self) -> u32 {
        self.state().process
    }

    fn program(&self) -> String {
        "/bin/sample".into()
    }
}

impl Files for Process {
    fn open(&self, path: &str) -> Result<FileId, FileError> {
        let mut state = self.state();
        if state.full {
            return Err(ENOSPC);
        }
        let path = path.replace("%p", &state.process.to_string());
        let at = state.files.iter().position(|(name, _)| *name == path);
        let at = at.unwrap_or_else(|| {
            state.files.push((path, Vec::new()));
            state.files.len() - 1
        });
        Ok(FileId(at as u32))
    }

    fn append_parts(&self, file: FileId, parts: &[&[u8]]) -> Result<(), FileError> {
        let mut state = self.state();
        if state.full {
            return Err(ENOSPC);
        }
        let file = state.files.get_mut(file.0 as usize);
        let (_, content) = file.ok_or(FileError(9))?;
        parts
            .iter()
            .for_each(|part| content.extend_from_slice(part));
        Ok(())
    }
}
