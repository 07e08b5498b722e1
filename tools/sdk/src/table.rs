//! Aligned columns.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Spaces between columns, and before the first one.
const GAP: usize = 2;

/// On which side a column is flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text, aligned when they are all known.
#[derive(Clone, Debug)]
pub struct Table<const COLUMNS: usize> {
    align: [Align; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// No rows yet.
    #[must_use]
    pub const fn new(align: [Align; COLUMNS]) -> Self {
        Self {
            align,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    /// One line for each row; no spaces at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: [usize; COLUMNS] = core::array::from_fn(|column| self.width(column));
        for row in &self.rows {
            let mut pending = 0;
            for (column, cell) in row.iter().enumerate() {
                let free = widths[column] - cell.chars().count();
                let (before, after) = match self.align[column] {
                    Align::Left => (0, free),
                    Align::Right => (free, 0),
                };
                pending += GAP + before;
                if !cell.is_empty() {
                    write!(f, "{:pending$}{cell}", "")?;
                    pending = 0;
                }
                pending += after;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_with_text() {
        let mut table = Table::new([Align::Right, Align::Left, Align::Right]);
        table.row(["7".into(), "mov".into(), "70 %".into()]);
        table.row(["1,000".into(), "é".into(), String::new()]);
        let want = "      7  mov  70 %\n  1,000  é\n";
        assert_eq!(table.to_string(), want);
    }
}
