//! What the kernel has put on the stack of a new process (System V ABI for AMD64, figure 3.9):
//!
//! ```text
//! argc, argv[0] ... argv[argc - 1], 0, envp[0] ..., 0, (kind, value) ..., (0, 0)
//! ```
//!
//! # Safety
//!
//! [`Stack::new`] vouches for the layout, and for the strings as long as the value lives.
#![allow(unsafe_code)]

use core::ffi::CStr;

/// Kinds of pairs.
const END: usize = 0;
const EXECUTED: usize = 31;

/// The words of a process's command line and its environment.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    arguments: *const *const u8,
    count: usize,
}

impl Stack {
    /// From the stack pointer that the process was entered with.
    ///
    /// # Safety
    /// `start` is that, the strings that it leads to are never changed, and the value is used as
    /// long as they are there.
    #[must_use]
    pub const unsafe fn new(start: *const usize) -> Self {
        // SAFETY: the number of arguments comes first, the arguments behind it.
        unsafe {
            Self {
                arguments: start.add(1).cast(),
                count: *start,
            }
        }
    }

    /// Argument `number`, from 0 on, if there are so many.
    pub(crate) fn argument(&self, number: usize) -> Option<&CStr> {
        // SAFETY: below the count, there is a string.
        (number < self.count)
            .then(|| unsafe { CStr::from_ptr((*self.arguments.add(number)).cast()) })
    }

    /// The arguments from `number` on, which is at most their count, as `execve` takes them.
    pub(crate) const fn arguments_from(&self, number: usize) -> *const *const u8 {
        assert!(number <= self.count, "there are so many");
        // SAFETY: they are followed by a null pointer.
        unsafe { self.arguments.add(number) }
    }

    /// The environment, as `execve` takes it.
    pub(crate) const fn environment(&self) -> *const *const u8 {
        // SAFETY: it follows the arguments' null pointer.
        unsafe { self.arguments.add(self.count + 1) }
    }

    /// Value of the first variable of this name.
    pub(crate) fn variable(&self, name: &[u8]) -> Option<&CStr> {
        let mut entry = self.environment();
        loop {
            // SAFETY: entries are strings up to a null pointer.
            let text = unsafe {
                if (*entry).is_null() {
                    return None;
                }
                CStr::from_ptr((*entry).cast())
            };
            let value = text.to_bytes().strip_prefix(name);
            if value.is_some_and(|rest| rest.first() == Some(&b'=')) {
                // SAFETY: the value is the rest of that string.
                return Some(unsafe { CStr::from_ptr(text.as_ptr().add(name.len() + 1)) });
            }
            // SAFETY: it was not the last.
            entry = unsafe { entry.add(1) };
        }
    }
}

impl Stack {
    /// The path that was executed, as it was given to the kernel (getauxval(3), `AT_EXECFN`).
    pub(crate) fn executed(&self) -> Option<&CStr> {
        let mut entry = self.environment();
        // SAFETY: the environment ends with a null pointer.
        while !unsafe { *entry }.is_null() {
            // SAFETY: it was not the last.
            entry = unsafe { entry.add(1) };
        }
        // SAFETY: pairs follow.
        let mut pair = unsafe { entry.add(1) }.cast::<[usize; 2]>();
        loop {
            // SAFETY: the pairs end with one of kind 0.
            match unsafe { *pair } {
                [END, _] => return None,
                // SAFETY: the value is the address of a string.
                [EXECUTED, at] => return Some(unsafe { CStr::from_ptr(at as *const _) }),
                _ => {}
            }
            // SAFETY: it was not the last.
            pair = unsafe { pair.add(1) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::ffi::CString;

    /// A stack as the kernel makes it.
    pub(crate) struct Made {
        words: Vec<usize>,
        _texts: Vec<CString>,
    }

    impl Made {
        pub(crate) fn new(arguments: &[&str], environment: &[&str]) -> Self {
            let mut made = Self {
                words: vec![arguments.len()],
                _texts: Vec::new(),
            };
            for list in [arguments, environment] {
                for text in list {
                    let text = CString::new(*text).unwrap();
                    made.words.push(text.as_ptr() as usize);
                    made._texts.push(text);
                }
                made.words.push(0);
            }
            made.words.extend([6, 4096, 0, 0]);
            made
        }

        /// By what path it was executed.
        fn executed(mut self, path: &str) -> Self {
            let path = CString::new(path).unwrap();
            let end = self.words.len() - 2;
            let pair = [EXECUTED, path.as_ptr() as usize];
            self.words.splice(end..end, pair);
            self._texts.push(path);
            self
        }

        pub(crate) fn stack(&self) -> Stack {
            // SAFETY: made like that, and the strings live as long as `self`.
            unsafe { Stack::new(self.words.as_ptr()) }
        }
    }

    #[test]
    fn arguments_and_variables_are_found() {
        let made = Made::new(&["ppin", "run"], &["AB=1", "A=2", "odd", "A=3", "E="]);
        let stack = made.stack();
        assert_eq!(stack.argument(1), Some(c"run"));
        assert_eq!(stack.argument(2), None);
        assert_eq!(stack.variable(b"A"), Some(c"2"));
        assert_eq!(stack.variable(b"E"), Some(c""));
        assert_eq!(stack.variable(b"odd"), None);
        assert_eq!(stack.variable(b"B"), None);
        assert_eq!(stack.executed(), None);
        let made = made.executed("/bin/ppin");
        assert_eq!(made.stack().executed(), Some(c"/bin/ppin"));
    }
}
