//! JSON, written as it is said: nothing is kept.
//!
//! ```
//! # use ppin_sdk::json;
//! let mut line = String::new();
//! json::object(&mut line, |o| {
//!     o.field("program", "/bin/true")?;
//!     o.array("threads", |a| a.object(|o| o.field("id", 0_u32)))
//! }).unwrap();
//! assert_eq!(line, r#"{"program":"/bin/true","threads":[{"id":0}]}"#);
//! ```

use core::fmt::{self, Write};

/// A value without parts.
pub trait Value {
    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    fn write(&self, out: &mut dyn Write) -> fmt::Result;
}

impl Value for u64 {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl Value for u32 {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl Value for bool {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl Value for str {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        out.write_char('"')?;
        for c in self.chars() {
            match c {
                '"' | '\\' => write!(out, "\\{c}")?,
                '\n' => out.write_str("\\n")?,
                '\t' => out.write_str("\\t")?,
                c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
                c => out.write_char(c)?,
            }
        }
        out.write_char('"')
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        (**self).write(out)
    }
}

impl Value for alloc::string::String {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        self.as_str().write(out)
    }
}

/// Writes an object whose members `fill` says.
///
/// # Errors
/// Those of `out`.
pub fn object(
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Object<'_>) -> fmt::Result,
) -> fmt::Result {
    out.write_char('{')?;
    fill(&mut Object(List { out, first: true }))?;
    out.write_char('}')
}

fn array(out: &mut dyn Write, fill: impl FnOnce(&mut Array<'_>) -> fmt::Result) -> fmt::Result {
    out.write_char('[')?;
    fill(&mut Array(List { out, first: true }))?;
    out.write_char(']')
}

/// The inside of brackets.
struct List<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl List<'_> {
    /// Where the next entry goes.
    fn next(&mut self) -> Result<&mut dyn Write, fmt::Error> {
        if !core::mem::take(&mut self.first) {
            self.out.write_char(',')?;
        }
        Ok(self.out)
    }

    fn named(&mut self, name: &str) -> Result<&mut dyn Write, fmt::Error> {
        let out = self.next()?;
        name.write(out)?;
        out.write_char(':')?;
        Ok(out)
    }
}

/// The members of an object.
pub struct Object<'a>(List<'a>);

#[allow(clippy::missing_errors_doc, reason = "those of the writer, everywhere")]
impl Object<'_> {
    /// A plain member.
    pub fn field(&mut self, name: &str, value: impl Value) -> fmt::Result {
        value.write(self.0.named(name)?)
    }

    /// A member that is an object.
    pub fn object(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut Object<'_>) -> fmt::Result,
    ) -> fmt::Result {
        object(self.0.named(name)?, fill)
    }

    /// A member that is an array.
    pub fn array(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut Array<'_>) -> fmt::Result,
    ) -> fmt::Result {
        array(self.0.named(name)?, fill)
    }
}

/// The elements of an array.
pub struct Array<'a>(List<'a>);

#[allow(clippy::missing_errors_doc, reason = "those of the writer, everywhere")]
impl Array<'_> {
    /// A plain element.
    pub fn value(&mut self, value: impl Value) -> fmt::Result {
        value.write(self.0.next()?)
    }

    /// An element that is an object.
    pub fn object(&mut self, fill: impl FnOnce(&mut Object<'_>) -> fmt::Result) -> fmt::Result {
        object(self.0.next()?, fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut line = String::new();
        "a\"b\\c\n\t\u{1}é".write(&mut line).unwrap();
        assert_eq!(line, r#""a\"b\\c\n\t\u0001é""#);
    }

    #[test]
    fn commas_stand_between() {
        let mut line = String::new();
        let done = object(&mut line, |o| {
            o.array("none", |_| Ok(()))?;
            o.array("two", |a| {
                a.value(1_u64)?;
                a.value(true)
            })?;
            o.object("in", |o| o.field("x", 1_u32))
        });
        done.unwrap();
        assert_eq!(line, r#"{"none":[],"two":[1,true],"in":{"x":1}}"#);
    }
}
