//! Numbers as people read them.

use core::fmt;

/// A number with thousands separated: `1,234,567`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grouped(pub u64);

/// Digits of the largest number, and a separator after every third.
const LONGEST: usize = 20 + 6;

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [b','; LONGEST];
        let mut at = LONGEST;
        let mut rest = self.0;
        for digit in 0.. {
            if digit > 0 && digit % 3 == 0 {
                at -= 1;
            }
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        f.pad_integral(true, "", core::str::from_utf8(&text[at..]).unwrap_or("?"))
    }
}

/// A part of a whole: `12.34 %`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The part.
    pub part: u64,
    /// The whole; a part of nothing is 0 %.
    pub whole: u64,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = u128::from(self.whole.max(1));
        let hundredths = (u128::from(self.part) * 10_000 + whole / 2) / whole;
        write!(f, "{}.{:02} %", hundredths / 100, hundredths % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let all = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (number, text) in all {
            assert_eq!(Grouped(number).to_string(), text);
        }
        assert_eq!(format!("{:>7}", Grouped(1000)), "  1,000");
    }

    #[test]
    fn shares_are_rounded() {
        let share = |part, whole| Share { part, whole }.to_string();
        assert_eq!(share(1, 3), "33.33 %");
        assert_eq!(share(2, 3), "66.67 %");
        assert_eq!(share(u64::MAX, u64::MAX), "100.00 %");
        assert_eq!(share(0, 0), "0.00 %");
    }
}
