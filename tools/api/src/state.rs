//! What a tool collects: values of its own types, a copy for each thread.

use alloc::boxed::Box;
use core::any::{Any, TypeId};
use core::fmt;
use core::marker::PhantomData;

/// Index into [`crate::Tool::states`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateId(pub u16);

/// Adding up what several threads have collected.
pub trait Merge {
    /// Adds what `other` has collected.
    fn merge(&mut self, other: &Self);
}

/// A declared state: every thread has a copy of its own, so routines need no locks.
///
/// A copy begins as `T::default()` when its thread starts. When the thread ends, it is merged into
/// one that stands for all ended threads. A forked child begins anew.
///
/// At the end of the process other threads may still run: what is reported of them is a copy that
/// was made at some moment, perhaps in the middle of a routine. That is why a state must be `Copy`:
/// plain numbers in structures and arrays.
#[derive(Clone, Copy)]
pub struct State {
    /// Name, for listings.
    pub name: &'static str,
    kind: &'static dyn StateKind,
}

/// What a state consists of.
pub trait StateKind: Sync {
    /// A new copy.
    fn make(&self) -> Box<dyn StateCopy>;

    /// Its type.
    fn type_id(&self) -> TypeId;
}

/// Values of type `T`.
struct Of<T>(PhantomData<fn() -> T>);

impl<T: Default + Merge + Copy + Send + 'static> StateKind for Of<T> {
    fn make(&self) -> Box<dyn StateCopy> {
        Box::<T>::default()
    }

    fn type_id(&self) -> TypeId {
        TypeId::of::<T>()
    }
}

impl State {
    /// A state of type `T`.
    #[must_use]
    pub const fn of<T: Default + Merge + Copy + Send + 'static>(name: &'static str) -> Self {
        let kind: &'static dyn StateKind = const { &Of::<T>(PhantomData) };
        Self { name, kind }
    }

    /// A state whose copies somebody else makes.
    #[must_use]
    pub const fn of_kind(name: &'static str, kind: &'static dyn StateKind) -> Self {
        Self { name, kind }
    }

    /// A new copy.
    #[must_use]
    pub fn make(&self) -> Box<dyn StateCopy> {
        self.kind.make()
    }

    /// Its type.
    #[must_use]
    pub fn type_id(&self) -> TypeId {
        StateKind::type_id(self.kind)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.name).finish()
    }
}

/// One copy of a state, whatever its type.
pub trait StateCopy: Send {
    /// Adds what `other` has collected, which is a copy of the same state.
    fn add(&mut self, other: &dyn StateCopy);

    /// What it is now, made beside a thread that may change it.
    fn snapshot(&self) -> Box<dyn StateCopy>;

    /// Where it lies: what a routine gets as `&mut T`.
    fn address(&mut self) -> usize;

    /// For a look by its type.
    fn as_any(&self) -> &dyn Any;

    /// For a change by its type.
    fn as_any_mut(&mut self) -> &mut dyn Any;

    /// For taking it by its type.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Merge + Copy + Send + 'static> StateCopy for T {
    fn add(&mut self, other: &dyn StateCopy) {
        if let Some(other) = other.as_any().downcast_ref() {
            self.merge(other);
        }
    }

    fn snapshot(&self) -> Box<dyn StateCopy> {
        Box::new(*self)
    }

    fn address(&mut self) -> usize {
        core::ptr::from_mut(self).expose_provenance()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Clone, Copy)]
    struct Sum(u64);

    impl Merge for Sum {
        fn merge(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    #[test]
    fn copies_are_added_by_their_type() {
        let state = State::of::<Sum>("sum");
        let [mut one, mut other] = [state.make(), state.make()];
        for (copy, value) in [(&mut one, 3), (&mut other, 4)] {
            copy.as_mut().as_any_mut().downcast_mut::<Sum>().unwrap().0 = value;
        }
        one.as_mut().add(other.as_ref());
        assert_eq!(one.into_any().downcast::<Sum>().unwrap().0, 7);
        assert_eq!(state.type_id(), TypeId::of::<Sum>());
        assert_eq!(format!("{state:?}"), "State(\"sum\")");
    }
}
