//! The process around a tool.

use super::{Each, Row, Slice, Text, This};

/// The services of the host.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Host<'a> {
    /// The host.
    pub this: This,
    /// What it does.
    pub functions: &'a HostFunctions,
}

/// A function for each service.
#[derive(Debug)]
#[repr(C)]
pub struct HostFunctions {
    /// `Counters::global_total`.
    pub global_total: extern "C" fn(this: This, index: u32) -> u64,
    /// `Counters::global_of`.
    pub global_of: extern "C" fn(this: This, thread: u32, index: u32) -> u64,
    /// `Counters::image_total`.
    pub image_total: extern "C" fn(this: This, image: u32, index: u32) -> u64,
    /// `States::merged`: a copy that the tool has to free; null: there is no such state.
    pub merged: extern "C" fn(this: This, state: u16) -> This,
    /// `Threads::threads`.
    pub threads: extern "C" fn(this: This, each: Each<ThreadRow>),
    /// `Images::images`.
    pub images: extern "C" fn(this: This, each: Each<ImageRow<'static>>),
    /// `Program::process_id`.
    pub process_id: extern "C" fn(this: This) -> u32,
    /// `Program::program`, passed once.
    pub program: extern "C" fn(this: This, to: Each<Text<'static>>),
    /// `Files::open`: the file's number, or an error's, negative.
    pub open: extern "C" fn(this: This, path: Text<'_>) -> i64,
    /// `Files::append_parts`: 0, or an error's number.
    pub append: extern "C" fn(this: This, file: u32, parts: Slice<'_, Slice<'_, u8>>) -> i32,
}

/// A thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ThreadRow {
    /// Number here.
    pub id: u32,
    /// Number in the kernel.
    pub tid: u32,
}

impl Row for ThreadRow {
    type Lent<'a> = Self;
}

/// An image.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ImageRow<'a> {
    /// Address of image offset 0.
    pub base: u64,
    /// Number here.
    pub id: u32,
    /// Path of its file.
    pub path: Text<'a>,
}

impl Row for ImageRow<'static> {
    type Lent<'a> = ImageRow<'a>;
}
