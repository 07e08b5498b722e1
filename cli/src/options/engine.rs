//! How the engine runs a program: compared with the processor, or as tests want it.

use std::num::NonZeroU32;
use std::path::PathBuf;

/// How a run is compared with the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// All of it.
    Lockstep,
    /// One in so many arrivals in translated code; `None`: as time allows.
    Sample(Option<NonZeroU32>),
}

impl std::str::FromStr for Check {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |every: &str| {
            let every = every.parse();
            every.map_err(|_| "N is a number from 1 on".to_owned())
        };
        match text.split_once(':') {
            None if text == "lockstep" => Ok(Self::Lockstep),
            None if text == "sample" => Ok(Self::Sample(None)),
            Some(("sample", every)) => Ok(Self::Sample(Some(number(every)?))),
            _ => Err("it is lockstep, sample or sample:N".to_owned()),
        }
    }
}

/// A switch of the engine that only tests want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineOption {
    /// Limit of the code cache in KiB.
    CacheLimit(u32),
    /// Put everything at a random place.
    Shuffle,
    /// Never use a unit's preferred place.
    ForbidPreferred,
    /// Report every entry into translated code to the parent, who traces us.
    Lockstep,
    /// Translate at the end what the program did not execute, too: `ppin warm`.
    Explore,
    /// Of the image that this file names, translate all that the places in it lead to: `ppin warm --static`.
    Places(PathBuf),
}

impl std::str::FromStr for EngineOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "shuffle" => Ok(Self::Shuffle),
            None if text == "forbid-preferred" => Ok(Self::ForbidPreferred),
            None if text == "lockstep" => Ok(Self::Lockstep),
            None if text == "explore" => Ok(Self::Explore),
            Some(("cache-limit", size)) => kib(size).map(Self::CacheLimit),
            Some(("places", file)) => Ok(Self::Places(file.into())),
            _ => Err(format!("no engine option {text}")),
        }
    }
}

/// A size with K, M or G behind it, in KiB.
fn kib(size: &str) -> Result<u32, String> {
    let unit = [("K", 1), ("M", 1 << 10), ("G", 1 << 20)];
    let split = unit
        .iter()
        .find_map(|(suffix, kib)| Some((size.strip_suffix(suffix)?, *kib)));
    let (number, kib) = split.ok_or("a size ends in K, M or G")?;
    let number: u32 = number
        .parse()
        .map_err(|_| format!("{number} is no number"))?;
    number
        .checked_mul(kib)
        .ok_or_else(|| format!("{size} is too large"))
}

#[cfg(test)]
mod tests {
    use super::EngineOption;

    #[test]
    fn engine_options_are_read() {
        assert_eq!("cache-limit=1M".parse(), Ok(EngineOption::CacheLimit(1024)));
        assert_eq!("shuffle".parse(), Ok(EngineOption::Shuffle));
        assert!("cache-limit=9999G".parse::<EngineOption>().is_err());
        assert!("cache-limit".parse::<EngineOption>().is_err());
    }
}
