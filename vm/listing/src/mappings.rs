//! The text of a list of mappings, as it would be natively (proc_pid_maps(5), proc_pid_smaps(5)).
//!
//! An entry is one line; in smaps, lines of figures follow it.

use alloc::format;
use alloc::vec::Vec;
use ppin_os::mem::PAGE;
use ppin_process::ours::Range;

/// An entry: one mapping, or a piece of one.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub start: u64,
    pub end: u64,
    pub perms: [u8; 4],
    offset: u64,
    /// Device, inode, and the path behind blanks.
    pub rest: &'a [u8],
    figures: Vec<Figure<'a>>,
    /// Some of its pages are guarded; they are shown as writable.
    shown_writable: bool,
}

/// A line of figures.
#[derive(Clone, Debug)]
enum Figure<'a> {
    /// Name with colon, the number of kB, and the length of the line.
    Size(&'a [u8], u64, usize),
    /// Any other line.
    Verbatim(&'a [u8]),
}

/// The list without entries that lie in `hidden`, and with the pages `guarded` (ascending)
/// writable. A list that cannot be parsed is returned unchanged.
#[must_use]
pub(crate) fn native(list: &[u8], hidden: &[Range], guarded: &[u64]) -> Vec<u8> {
    let Some(entries) = parse(list) else {
        return list.to_vec();
    };
    let shown = entries.into_iter().filter(|entry| !entry.lies_in(hidden));
    let pieces = shown.flat_map(|entry| unguarded(entry, guarded));
    joined(pieces).iter().fold(Vec::new(), print)
}

pub(super) fn parse(list: &[u8]) -> Option<Vec<Entry<'_>>> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in list.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        match (heading(line), entries.last_mut()) {
            (Some(entry), _) => entries.push(entry),
            (None, Some(entry)) => entry.figures.push(figure(line)),
            (None, None) => return None,
        }
    }
    Some(entries)
}

/// `start-end perms offset rest`
fn heading(line: &[u8]) -> Option<Entry<'_>> {
    let mut fields = line.splitn(4, |b| *b == b' ');
    let mut range = fields.next()?.split(|b| *b == b'-');
    let (start, end) = (hex(range.next()?)?, hex(range.next()?)?);
    Some(Entry {
        start,
        end,
        perms: fields.next()?.try_into().ok()?,
        offset: hex(fields.next()?)?,
        rest: fields.next()?,
        figures: Vec::new(),
        shown_writable: false,
    })
}

fn hex(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(text).ok()?, 16).ok()
}

fn figure(line: &[u8]) -> Figure<'_> {
    let colon = line.iter().position(|b| *b == b':').unwrap_or(0);
    let (name, value) = line.split_at(colon + 1);
    let number = value.strip_suffix(b" kB").map(<[u8]>::trim_ascii);
    let number = number.and_then(|n| core::str::from_utf8(n).ok()?.parse().ok());
    match number {
        Some(n) if !name.ends_with(b"PageSize:") => Figure::Size(name, n, line.len()),
        _ => Figure::Verbatim(line),
    }
}

/// The entry, cut into pieces so that guarded pages are writable and others are not.
fn unguarded<'a>(entry: Entry<'a>, guarded: &[u64]) -> Vec<Entry<'a>> {
    let from = guarded.partition_point(|page| *page < entry.start);
    let to = guarded.partition_point(|page| *page < entry.end);
    let mut pieces: Vec<Entry> = Vec::new();
    let mut rest = Some(entry);
    for page in &guarded[from..to] {
        let (before, page) = rest.take().map_or((None, None), |e| cut(e, *page));
        pieces.extend(before);
        let (page, behind) = page.map_or((None, None), |e| {
            let end = e.start + PAGE;
            cut(e, end)
        });
        pieces.extend(page.map(writable));
        rest = behind;
    }
    pieces.extend(rest);
    pieces
}

/// Cuts the entry at `at`: the pieces before and after. Figures stay with the first piece.
fn cut(entry: Entry<'_>, at: u64) -> (Option<Entry<'_>>, Option<Entry<'_>>) {
    if at <= entry.start {
        return (None, Some(entry));
    }
    if at >= entry.end {
        return (Some(entry), None);
    }
    let mut behind = entry.clone();
    behind.start = at;
    if !entry.is_anonymous() {
        behind.offset += at - entry.start;
    }
    for figure in &mut behind.figures {
        if let Figure::Size(_, kb, _) = figure {
            *kb = 0;
        }
    }
    (Some(Entry { end: at, ..entry }), Some(behind))
}

fn writable(mut entry: Entry<'_>) -> Entry<'_> {
    entry.perms[1] = b'w';
    entry.shown_writable = true;
    entry
}

impl Entry<'_> {
    /// Whether the entry begins in one of `ranges`.
    pub(crate) fn lies_in(&self, ranges: &[Range]) -> bool {
        ranges.iter().any(|r| (r.0..r.1).contains(&self.start))
    }

    /// The path of its file; empty if it has none.
    pub(crate) fn path(&self) -> &[u8] {
        let path = self.rest.iter().position(|byte| *byte == b'/');
        path.map_or(&[], |at| &self.rest[at..])
    }

    /// The figure `name` (with its colon) in kB; 0 if there is none.
    pub(crate) fn figure(&self, name: &[u8]) -> u64 {
        let named = |figure: &Figure| match figure {
            Figure::Size(it, kb, _) if *it == name => Some(*kb),
            _ => None,
        };
        self.figures.iter().find_map(named).unwrap_or(0)
    }

    /// Whether the entry maps a file, with or without a name.
    pub(crate) fn is_of_a_file(&self) -> bool {
        !self.is_anonymous()
    }

    fn is_anonymous(&self) -> bool {
        let inode = self.rest.split(|b| *b == b' ').nth(1);
        inode == Some(b"0")
    }

    /// Whether the kernel would have merged `self` and `next`, which follows it.
    fn continues_in(&self, next: &Self) -> bool {
        let place = self.is_anonymous() || self.offset + (self.end - self.start) == next.offset;
        let alike = self.perms == next.perms && self.rest == next.rest;
        (self.shown_writable || next.shown_writable) && self.end == next.start && alike && place
    }

    fn absorb(&mut self, next: &Self) {
        (self.end, self.shown_writable) = (next.end, true);
        for (mine, theirs) in self.figures.iter_mut().zip(&next.figures) {
            if let (Figure::Size(_, sum, _), Figure::Size(_, more, _)) = (mine, theirs) {
                *sum += more;
            }
        }
    }
}

/// Joins entries that the VM's guards have split.
fn joined<'a>(pieces: impl Iterator<Item = Entry<'a>>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry> = Vec::new();
    for piece in pieces {
        match entries.last_mut() {
            Some(last) if last.continues_in(&piece) => last.absorb(&piece),
            _ => entries.push(piece),
        }
    }
    entries
}

fn print(mut text: Vec<u8>, entry: &Entry) -> Vec<u8> {
    let perms = core::str::from_utf8(&entry.perms).unwrap_or("????");
    let (start, end, offset) = (entry.start, entry.end, entry.offset);
    text.extend(format!("{start:08x}-{end:08x} {perms} {offset:08x} ").bytes());
    text.extend(entry.rest);
    text.push(b'\n');
    for figure in &entry.figures {
        match figure {
            Figure::Verbatim(line) => match line.strip_prefix(b"VmFlags: rd ex ") {
                Some(rest) if entry.perms[1] == b'w' => {
                    text.extend(b"VmFlags: rd wr ex ");
                    text.extend(rest);
                }
                _ => text.extend(*line),
            },
            Figure::Size(name, kb, len) => {
                let width = len.saturating_sub(name.len() + " kB".len());
                text.extend(*name);
                text.extend(format!("{kb:width$} kB").bytes());
            }
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::native;
    use alloc::string::String;

    const LIST: &str = "\
00400000-00401000 r-xp 00000000 fe:00 12                                 /bin/a b
550000000000-550000002000 rw-p 00000000 00:00 0 
7f0000000000-7f0000001000 rwxp 00000000 00:00 0 
7f0000001000-7f0000002000 r-xp 00000000 00:00 0 
7f0000002000-7f0000004000 rwxp 00000000 00:00 0 
7f0000004000-7f0000005000 r-xp 00000000 00:00 0 
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
";

    fn shown(list: &str, hidden: &[(u64, u64)], guarded: &[u64]) -> String {
        String::from_utf8(native(list.as_bytes(), hidden, guarded)).unwrap()
    }

    #[test]
    fn a_list_without_anything_of_ours_stays_as_it_is() {
        assert_eq!(shown(LIST, &[], &[]), LIST);
        assert_eq!(shown("no list\n", &[], &[]), "no list\n");
    }

    #[test]
    fn ours_is_left_out_and_guarded_pages_belong_to_their_neighbours() {
        let ours = [(0x5500_0000_0000, 0x5501_0000_0000)];
        let expected = "\
00400000-00401000 r-xp 00000000 fe:00 12                                 /bin/a b
7f0000000000-7f0000004000 rwxp 00000000 00:00 0 
7f0000004000-7f0000005000 r-xp 00000000 00:00 0 
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
";
        assert_eq!(shown(LIST, &ours, &[0x7f00_0000_1000]), expected);
    }

    #[test]
    fn a_guarded_page_that_the_kernel_has_joined_with_others_is_cut_out() {
        let list = "7f0000000000-7f0000003000 r-xp 00005000 fe:00 12     /lib\n";
        let expected = "\
7f0000000000-7f0000001000 r-xp 00005000 fe:00 12     /lib
7f0000001000-7f0000002000 rwxp 00006000 fe:00 12     /lib
7f0000002000-7f0000003000 r-xp 00007000 fe:00 12     /lib
";
        assert_eq!(shown(list, &[], &[0x7f00_0000_1000]), expected);
    }

    #[test]
    fn figures_of_what_is_joined_are_added() {
        let piece = |range: &str, perms, size: u32, flags| {
            alloc::format!(
                "{range} {perms} 00000000 00:00 0 \n\
                 Size:               {size:4} kB\nKernelPageSize:        4 kB\n\
                 THPeligible:           0\nVmFlags: {flags} mr mw me sd \n"
            )
        };
        let list = piece("00001000-00002000", "rwxp", 4, "rd wr ex")
            + &piece("00002000-00003000", "r-xp", 4, "rd ex");
        let expected = piece("00001000-00003000", "rwxp", 8, "rd wr ex");
        assert_eq!(shown(&list, &[], &[0x2000]), expected);
    }
}
