//! Plain command lines.

use crate::stack::Stack;
use core::ffi::CStr;

/// The name of no tool.
const NO_TOOL: &[u8] = b"null";

/// A command line that is understood here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plain<'a> {
    /// Name of the tool, if there is one.
    pub tool: Option<&'a [u8]>,
    /// The database that was named.
    pub database: Option<&'a CStr>,
    /// The file of the report.
    pub output: Option<&'a CStr>,
    /// Whether statistics are wanted.
    pub wants_stats: bool,
    /// Their file.
    pub stats: Option<&'a CStr>,
    /// The program as it was named.
    pub program: &'a CStr,
    /// Its place among the words.
    pub first: usize,
}

/// The command line of the process, if it is plain.
pub(crate) fn plain(stack: &Stack) -> Option<Plain<'_>> {
    let mut options = Options::default();
    let first = options.read(stack, first_option(stack)?)?;
    let tool = options.tool.map(CStr::to_bytes);
    let program = stack.argument(first)?;
    (!program.is_empty()).then_some(Plain {
        tool: tool.filter(|name| *name != NO_TOOL),
        database: options.database,
        output: options.output,
        wants_stats: options.wants_stats,
        stats: options.stats,
        program,
        first,
    })
}

/// Where the options of `run` begin. Pin's users leave the verb away before `-t`.
fn first_option(stack: &Stack) -> Option<usize> {
    match stack.argument(1)?.to_bytes() {
        b"run" => Some(2),
        b"-t" => Some(1),
        _ => None,
    }
}

/// Options that have been read.
#[derive(Default)]
struct Options<'a> {
    tool: Option<&'a CStr>,
    database: Option<&'a CStr>,
    output: Option<&'a CStr>,
    wants_stats: bool,
    stats: Option<&'a CStr>,
}

impl<'a> Options<'a> {
    /// Reads options from the one at `at` on; the place of the program. `None`: one is not plain.
    fn read(&mut self, stack: &'a Stack, mut at: usize) -> Option<usize> {
        loop {
            let word = stack.argument(at)?;
            let option = match word.to_bytes() {
                b"-t" => &mut self.tool,
                b"--db" => &mut self.database,
                b"-o" | b"--output" => &mut self.output,
                b"--" => return Some(at + 1),
                bytes if bytes.starts_with(b"--stats") => {
                    self.take_stats(word)?;
                    at += 1;
                    continue;
                }
                bytes if bytes.starts_with(b"-") => return None,
                _ => return Some(at),
            };
            set(option, stack.argument(at + 1)?)?;
            at += 2;
        }
    }

    /// Reads `--stats` or `--stats=FILE`.
    fn take_stats(&mut self, word: &'a CStr) -> Option<()> {
        let value = &word.to_bytes_with_nul()[b"--stats".len()..];
        if self.wants_stats {
            return None;
        }
        self.wants_stats = true;
        match value.strip_prefix(b"=") {
            Some(file) if file.len() > 1 => {
                let file = CStr::from_bytes_with_nul(file).ok()?;
                set(&mut self.stats, file)
            }
            Some(_) => None,
            None => (value.len() == 1).then_some(()),
        }
    }
}

/// Takes an option's value. Given twice, it means something else, or is wrong; so is a value that
/// looks like an option.
fn set<'a>(option: &mut Option<&'a CStr>, value: &'a CStr) -> Option<()> {
    let fits = option.is_none() && !value.to_bytes().starts_with(b"-");
    fits.then(|| *option = Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::tests::Made;

    /// Tool, database and place of the program, if the line is plain.
    fn read(line: &str) -> Option<(Option<String>, Option<String>, usize)> {
        let words: Vec<_> = line.split(' ').collect();
        let made = Made::new(&words, &[]);
        let stack = made.stack();
        let plain = plain(&stack)?;
        assert_eq!(plain.program.to_str(), Ok(words[plain.first]));
        let database = plain.database.map(|path| path.to_str().unwrap().to_owned());
        let tool = plain
            .tool
            .map(|name| String::from_utf8(name.to_vec()).unwrap());
        Some((tool, database, plain.first))
    }

    #[test]
    fn plain_lines_are_understood() {
        let icount = || Some("icount".to_owned());
        let database = || Some("d".to_owned());
        assert_eq!(read("ppin run true"), Some((None, None, 2)));
        assert_eq!(read("ppin run -t null true"), Some((None, None, 4)));
        assert_eq!(read("ppin run -- true -x"), Some((None, None, 3)));
        assert_eq!(read("ppin run --db d ls -t"), Some((None, database(), 4)));
        assert_eq!(read("ppin -t icount -- ls"), Some((icount(), None, 4)));
        assert_eq!(
            read("ppin run --db d -t icount ls --db x"),
            Some((icount(), database(), 6))
        );
        assert_eq!(read("ppin run -- -x"), Some((None, None, 3)));
    }

    #[test]
    fn the_report_may_have_a_file() {
        for option in ["-o", "--output"] {
            let made = Made::new(&["ppin", "run", option, "file", "ls", "-o", "x"], &[]);
            let stack = made.stack();
            let plain = plain(&stack).unwrap();
            assert_eq!((plain.output, plain.first), (Some(c"file"), 4));
        }
    }

    #[test]
    fn statistics_may_be_asked_for() {
        for (option, wanted, file) in [
            ("--stats", true, None),
            ("--stats=file", true, Some(c"file")),
            ("--", false, None),
        ] {
            let made = Made::new(&["ppin", "run", option, "ls", "--stats"], &[]);
            let stack = made.stack();
            let plain = plain(&stack).unwrap();
            assert_eq!(
                (plain.wants_stats, plain.stats, plain.first),
                (wanted, file, 3)
            );
        }
    }

    #[test]
    fn all_others_are_left_alone() {
        for line in [
            "ppin",
            "ppin run",
            "ppin run --",
            "ppin run -t",
            "ppin run -t icount",
            "ppin run -t icount -t icount ls",
            "ppin run --db a --db b ls",
            "ppin run --db -- ls",
            "ppin run -o a -o b ls",
            "ppin run -o",
            "ppin run -oa ls",
            "ppin run --output=a ls",
            "ppin run --db=d ls",
            "ppin run -ticount ls",
            "ppin run --stats= ls",
            "ppin run --stats --stats ls",
            "ppin run --stats=a --stats=b ls",
            "ppin run --stats=-a ls",
            "ppin run --statsx ls",
            "ppin run -h",
            "ppin run ",
            "ppin --db d ls",
            "ppin tool list",
            "ppin --version",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
