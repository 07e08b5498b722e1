//! What the CPU answers to the instruction `cpuid`.

/// eax, ebx, ecx and edx.
pub type Registers = [u32; 4];

/// An answer that does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What eax asks for.
    pub leaf: u32,
    /// What ecx asks for, in the bits of `mask`.
    pub subleaf: u32,
    /// The bits of ecx that matter: all or none.
    pub mask: u32,
    /// The answer.
    pub registers: Registers,
}

/// Words of an answer in the boot block and in the database.
pub const WORDS: usize = 7;

impl Answer {
    /// As words, in the order of the fields.
    #[must_use]
    pub const fn words(&self) -> [u32; WORDS] {
        let [eax, ebx, ecx, edx] = self.registers;
        [self.leaf, self.subleaf, self.mask, eax, ebx, ecx, edx]
    }

    /// Reads the bytes of [`Self::words`], little-endian, one answer behind the other; what is left
    /// over is none.
    pub fn read_all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (rows, _) = bytes.as_chunks::<{ WORDS * size_of::<u32>() }>();
        rows.iter().map(|row| {
            let (words, _) = row.as_chunks();
            let word = |n: usize| u32::from_le_bytes(words[n]);
            Self {
                leaf: word(0),
                subleaf: word(1),
                mask: word(2),
                registers: [3, 4, 5, 6].map(word),
            }
        })
    }

    /// The bytes of [`Self::words`], little-endian.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words().into_iter().flat_map(u32::to_le_bytes)
    }
}
