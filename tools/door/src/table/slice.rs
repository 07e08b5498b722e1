//! Slices and texts.
#![allow(unsafe_code)]

use super::This;
use core::marker::PhantomData;

/// A slice: address and number of elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slice<'a, T> {
    at: *const T,
    len: usize,
    lent: PhantomData<&'a [T]>,
}

/// UTF-8.
pub type Text<'a> = Slice<'a, u8>;

// SAFETY: a shared slice.
unsafe impl<T: Sync> Sync for Slice<'_, T> {}
// SAFETY: a shared slice.
unsafe impl<T: Sync> Send for Slice<'_, T> {}

impl<'a, T> Slice<'a, T> {
    /// Lends `slice`.
    #[must_use]
    pub const fn new(slice: &'a [T]) -> Self {
        Self {
            at: slice.as_ptr(),
            len: slice.len(),
            lent: PhantomData,
        }
    }

    /// The slice that was lent.
    #[must_use]
    pub const fn get(&self) -> &'a [T] {
        // SAFETY: made from a slice that is borrowed for `'a`, on either side.
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }
}

impl<'a> Text<'a> {
    /// Lends `text`.
    #[must_use]
    pub const fn of(text: &'a str) -> Self {
        Self::new(text.as_bytes())
    }

    /// The text that was lent; empty if it is none.
    #[must_use]
    pub fn text(&self) -> &'a str {
        core::str::from_utf8(self.get()).unwrap_or_default()
    }
}

/// An element of a list that one side makes for the other, which may borrow.
pub trait Row {
    /// As it is lent.
    type Lent<'a>;
}

impl Row for Text<'static> {
    type Lent<'a> = Text<'a>;
}

/// Gets each element of a list that the other side makes.
#[repr(C)]
pub struct Each<R: Row> {
    this: This,
    take: extern "C" fn(this: This, element: &R::Lent<'_>),
}

impl<R: Row> Each<R> {
    /// Passes each element to `take`, as long as this lives.
    pub fn new<F: FnMut(&R::Lent<'_>)>(take: &mut F) -> Self {
        extern "C" fn call<R: Row, F: FnMut(&R::Lent<'_>)>(this: This, element: &R::Lent<'_>) {
            // SAFETY: made below from an exclusive reference that the caller of the function
            // which gets this holds meanwhile.
            unsafe { (*this.cast_mut().cast::<F>())(element) }
        }
        Self {
            this: core::ptr::from_mut(take).cast(),
            take: call::<R, F>,
        }
    }

    /// Passes `element`.
    pub fn give(&self, element: &R::Lent<'_>) {
        (self.take)(self.this, element);
    }
}
