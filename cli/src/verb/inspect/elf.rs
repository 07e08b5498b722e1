//! Addresses and symbols of an ELF image, whose code is named by image offset.

use object::{Object, ObjectSymbol, SymbolKind};
use ppin_persist::Segments;
use std::fmt::Write;

#[derive(Clone, Debug)]
struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

/// Segments and symbols of an image; empty if the image is not available.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    segments: Option<Segments>,
    /// Functions, by address.
    symbols: Vec<Symbol>,
}

impl Elf {
    /// Reads an ELF file; what is none has no symbols.
    pub fn read(bytes: &[u8]) -> Self {
        let Ok(file) = object::File::parse(bytes) else {
            return Self::default();
        };
        let named = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| {
                matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown)
                    && symbol.is_definition()
                    && symbol.name().is_ok_and(|name| !name.is_empty())
            });
        let mut symbols: Vec<Symbol> = named
            .map(|symbol| Symbol {
                address: symbol.address(),
                size: symbol.size(),
                name: demangle(symbol.name().unwrap_or_default()),
            })
            .collect();
        symbols.sort_by(|a, b| (a.address, b.size, &a.name).cmp(&(b.address, a.size, &b.name)));
        symbols.dedup_by_key(|symbol| (symbol.address, symbol.name.clone()));
        Self {
            segments: Segments::of_file(bytes),
            symbols,
        }
    }

    /// The segments by which its code is named.
    pub fn segments(&self) -> Option<&Segments> {
        self.segments.as_ref()
    }

    /// The address, as linked, of an image offset; the offset itself if that is unknown.
    pub fn address(&self, offset: i32) -> u64 {
        let unknown = i64::from(offset) as u64;
        self.segments().map_or(unknown, |s| s.address(offset))
    }

    /// The function at `address`, and how far inside it that is.
    pub fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let last = self.symbols[..after].last()?.address;
        let first = self.symbols.partition_point(|symbol| symbol.address < last);
        let symbol = &self.symbols[first];
        let inside = address - symbol.address;
        (inside < symbol.size.max(1) || symbol.size == 0).then_some((&symbol.name, inside))
    }

    /// Ranges of the functions called `name`.
    pub fn ranges(&self, name: &str) -> Vec<std::ops::Range<u64>> {
        let matching = self
            .symbols
            .iter()
            .filter(|symbol| symbol.name == name || symbol.name.split('(').next() == Some(name));
        matching
            .map(|s| s.address..s.address + s.size.max(1))
            .collect()
    }

    /// `name+0x1f`, or the bare address.
    pub fn describe(&self, address: u64) -> String {
        let mut text = format!("{address:#x}");
        if let Some((name, inside)) = self.symbol(address) {
            let _ = match inside {
                0 => write!(text, " <{name}>"),
                _ => write!(text, " <{name}+{inside:#x}>"),
            };
        }
        text
    }
}

/// A name as its author wrote it.
fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
        && let Ok(text) = symbol.demangle()
    {
        return text;
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Elf {
        let symbol = |address, size, name: &str| Symbol {
            address,
            size,
            name: name.into(),
        };
        Elf {
            segments: None,
            symbols: vec![
                symbol(0x40_2010, 0x20, "big"),
                symbol(0x40_2010, 0, "alias"),
                symbol(0x40_2080, 0, "asm"),
            ],
        }
    }

    #[test]
    fn addresses_become_names() {
        let elf = sample();
        assert_eq!(elf.address(0x10), 0x10);
        assert_eq!(elf.describe(0x40_2010), "0x402010 <big>");
        assert_eq!(elf.describe(0x40_2018), "0x402018 <big+0x8>");
        assert_eq!(elf.describe(0x40_2040), "0x402040");
        assert_eq!(elf.describe(0x40_2090), "0x402090 <asm+0x10>");
        let big = 0x40_2010..0x40_2030;
        assert_eq!(elf.ranges("big"), [big]);
    }

    #[test]
    fn names_are_demangled() {
        assert_eq!(demangle("_ZN3foo3barEv"), "foo::bar()");
        assert_eq!(demangle("_RNvC1a1b"), "a::b");
        assert_eq!(demangle("main"), "main");
    }

    #[test]
    fn our_own_executable_has_symbols() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let elf = Elf::read(&own);
        let entry = object::File::parse(&*own).unwrap().entry();
        let first = elf.address(0);
        assert_eq!(elf.address((entry - first) as i32), entry);
        // Release builds are stripped.
        assert!(!elf.symbols.is_empty() || !cfg!(debug_assertions));
        assert!(Elf::read(b"no elf").symbols.is_empty());
    }
}
