//! Random numbers, and random bytes that are an instruction more often than not.

/// A sequence of numbers that only its seed decides.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// 64 random bits (xorshift64*).
    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.word() >> 33) % end
    }

    fn byte(&mut self) -> u8 {
        self.word().to_le_bytes()[7]
    }

    fn one_of(&mut self, bytes: &[u8]) -> u8 {
        bytes[self.below(bytes.len() as u64) as usize]
    }
}

/// Longest instruction.
pub const LONGEST: usize = 15;

/// Bytes that begin with what leads to one of the maps of opcodes; the rest is random.
pub fn instruction(random: &mut Random) -> [u8; LONGEST] {
    let mut start = Vec::new();
    match random.below(10) {
        0..=2 => legacy(random, &mut start, &[]),
        3..=4 => legacy(random, &mut start, &[0x0f]),
        5 => legacy(random, &mut start, &[0x0f, 0x38]),
        6 => legacy(random, &mut start, &[0x0f, 0x3a]),
        7 => start.push(0xc5),
        8 => start.extend([0xc4, random.byte() & 0xe0 | 1 + random.below(3) as u8]),
        _ => start.extend([
            0x62,
            random.byte() & 0xf0 | 1 + random.below(3) as u8,
            random.byte() | 4,
        ]),
    }
    let mut bytes = [0; LONGEST];
    bytes.fill_with(|| random.byte());
    bytes[..start.len()].copy_from_slice(&start);
    bytes
}

/// Prefixes, one time in two, and the `map`.
fn legacy(random: &mut Random, start: &mut Vec<u8>, map: &[u8]) {
    if random.below(2) == 0 {
        start.push(random.one_of(&[0x66, 0xf2, 0xf3, 0xf0]));
    }
    if random.below(2) == 0 {
        start.push(0x40 | random.byte() & 0x0f);
    }
    start.extend(map);
}
