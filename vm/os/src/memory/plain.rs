//! Types for which every bit pattern is a valid value.

/// A type for which every bit pattern is a valid value.
///
/// # Safety
/// No padding that matters, no invalid bit patterns.
pub unsafe trait Plain: Copy {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: an integer.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: arrays of integers.
unsafe impl<const N: usize> Plain for [u64; N] {}
// SAFETY: arrays of integers.
unsafe impl<const N: usize> Plain for [u8; N] {}
