//! Interruptions of the app by signals.

/// Where a signal interrupted the app.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Interrupted {
    /// The frame on the app's stack; 0: none.
    pub frame: u64,
    /// The app pc in that frame, as we wrote it.
    pub pc: u64,
    /// A cache address in the fragment that was running; 0: none was.
    pub code: u64,
    /// The app was interrupted inside a basic block.
    pub continues: bool,
}
