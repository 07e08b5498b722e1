//! The limit of a database's size.

use ppin_persist::evict::DEFAULT_CAP;

/// The variable that says so if no option does.
const VARIABLE: &str = "PPIN_MAX_SIZE";

/// The limit from the option, else from the environment, else the default.
pub fn cap(asked: Option<u64>) -> Result<u64, String> {
    match std::env::var_os(VARIABLE) {
        None => Ok(asked.unwrap_or(DEFAULT_CAP)),
        Some(_) if asked.is_some() => Ok(asked.unwrap_or_default()),
        Some(text) if text.is_empty() => Ok(DEFAULT_CAP),
        Some(text) => {
            let text = text.to_string_lossy();
            bytes(&text).map_err(|why| format!("{VARIABLE}: {why}"))
        }
    }
}

/// A size: a number of bytes, or with K, M or G behind it.
pub fn bytes(text: &str) -> Result<u64, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(format!("{unit} is no unit: K, M or G")),
    };
    let number: u64 = number.parse().map_err(|_| format!("{text} is no size"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("{text} is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes("17"), Ok(17));
        assert_eq!(bytes("2K"), Ok(2048));
        assert_eq!(bytes("1G"), Ok(1 << 30));
        for wrong in ["", "K", "1T", "1.5M", "-1", "99999999999G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_option_says_more_than_the_default() {
        assert_eq!(cap(Some(7)).unwrap(), 7);
    }
}
