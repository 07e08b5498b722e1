//! A list that is short as a rule, and then needs no memory of its own.

use alloc::vec::Vec;

/// Items that are kept in place.
const IN_PLACE: usize = 12;

/// A list of small values.
#[derive(Clone, Debug)]
pub struct Few<T> {
    first: [T; IN_PLACE],
    more: Vec<T>,
    len: usize,
}

impl<T: Copy> Few<T> {
    /// An empty list; `filler` is never seen.
    pub const fn new(filler: T) -> Self {
        Self {
            first: [filler; IN_PLACE],
            more: Vec::new(),
            len: 0,
        }
    }

    /// One more item, the last.
    pub fn push(&mut self, item: T) {
        match self.first.get_mut(self.len) {
            Some(place) => *place = item,
            None => self.more.push(item),
        }
        self.len += 1;
    }

    /// Replaces the item with this number, which there is.
    pub fn set(&mut self, number: u16, item: T) {
        let number = usize::from(number);
        debug_assert!(number < self.len, "an item that there is");
        match self.first.get_mut(number) {
            Some(place) => *place = item,
            None => self.more[number - IN_PLACE] = item,
        }
    }

    /// The item with this number, which there is.
    pub fn at(&self, number: u16) -> T {
        let number = usize::from(number);
        debug_assert!(number < self.len, "an item that there is");
        match self.first.get(number) {
            Some(item) => *item,
            None => self.more[number - IN_PLACE],
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.more.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_wherever_they_are_kept() {
        let mut few = Few::new(0);
        for round in 0..2 {
            for number in 0..3 * IN_PLACE as u16 {
                few.push(round + number);
            }
            assert_eq!(few.len(), 3 * IN_PLACE);
            for number in 0..3 * IN_PLACE as u16 {
                assert_eq!(few.at(number), round + number);
            }
            for number in [0, IN_PLACE as u16, 2 * IN_PLACE as u16] {
                few.set(number, 7);
                assert_eq!(
                    (few.at(number), few.at(number + 1)),
                    (7, round + number + 1)
                );
            }
            few.clear();
            assert_eq!(few.len(), 0);
        }
    }
}
