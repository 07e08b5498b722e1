//! Recognising string functions by their bytes: vector compares whose result goes to a
//! general register as a mask, and tests of where in its page an address lies. A
//! coincidence costs a translation, one that is missed may cost the next run one.

/// Whether code, of the app or translated, looks like part of a string function.
#[must_use]
pub fn is(code: &[u8]) -> bool {
    let may = |pair: &[u8]| MAY_BEGIN[pair[0] as usize] | MAY_FOLLOW[pair[1] as usize];
    let mut pairs = code.windows(2).enumerate();
    pairs.any(|(at, pair)| may(pair) && found(&code[at..]))
}

/// Bytes that a pattern of [`takes_mask`] or [`tests_page`] begins with. Nearly all of the code is
/// passed over by looking at two tables.
const MAY_BEGIN: [bool; 256] = table(&[0x0f, 0xc5, 0x81, 0xf7]);
/// Second bytes of a pattern that may begin with any.
const MAY_FOLLOW: [bool; 256] = table(&[0x3d, 0xa9]);

const fn table(bytes: &[u8]) -> [bool; 256] {
    let mut all = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        all[bytes[at] as usize] = true;
        at += 1;
    }
    all
}

fn found(code: &[u8]) -> bool {
    takes_mask(code) || tests_page(code)
}

/// `pmovmskb`, `vpmovmskb` in its short form, `kmov` to a general register.
fn takes_mask(code: &[u8]) -> bool {
    matches!(
        code,
        [0x0f, 0xd7, ..] | [0xc5, _, 0xd7, ..] | [0xc5, _, 0x93, ..]
    )
}

/// `and`, `cmp` and `test` with an offset near the end of a page, as it is or in the
/// upper 12 of 32 bits.
fn tests_page(code: &[u8]) -> bool {
    let constant = match code {
        [0x81 | 0xf7, _, constant @ ..] | [_, 0x3d | 0xa9, constant @ ..] => constant,
        _ => return false,
    };
    let bytes = constant.first_chunk().copied().unwrap_or_default();
    let value = u32::from_le_bytes(bytes);
    let offset = if value & 0xf_ffff == 0 {
        value >> 20
    } else {
        value
    };
    (0xc00..0x1000).contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn tests_of_page_offsets_are_seen() {
        // and eax, 0xfff; cmp eax, 0xfe0; ja
        assert!(is(&[
            0x25, 0xff, 0x0f, 0, 0, 0x3d, 0xe0, 0x0f, 0, 0, 0x0f, 0x87
        ]));
        // shl ecx, 20; cmp ecx, 0xf80 << 20; ja
        assert!(is(&[
            0xc1, 0xe1, 0x14, 0x81, 0xf9, 0, 0, 0, 0xf8, 0x0f, 0x87
        ]));
    }

    #[test]
    fn masks_are_seen() {
        assert!(is(&[0x66, 0x0f, 0xd7, 0xd0, 0x85, 0xd2, 0x75, 0x30]));
        assert!(is(&[0xc5, 0xfd, 0xd7, 0xc1, 0x85, 0xc0, 0x75, 0x30]));
        assert!(is(&[0xc5, 0xfb, 0x93, 0xc0, 0x85, 0xc0, 0x75, 0x30]));
        assert!(is(&[0x0f, 0xd7, 0xc0, 0xc3]), "it ends the trace");
    }

    #[test]
    fn other_code_is_not() {
        // cmp eax, 0x100; ja
        assert!(!is(&[0x3d, 0, 1, 0, 0, 0x0f, 0x87, 0, 0, 0, 0]));
        assert!(!is(&[0xe9]) && !is(&[]));
    }
}
