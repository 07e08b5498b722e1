//! The commands that are to be run.

use super::Warm;
use crate::failure::{Failure, USAGE};
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;

/// A program and its arguments.
pub type Command = Vec<OsString>;

/// All commands that `args` name: the one of the command line, those in one word, those of the list.
pub fn of(args: &Warm) -> Result<Vec<Command>, Failure> {
    let mut commands = Vec::new();
    if !args.command.is_empty() {
        commands.push(args.command.clone());
    }
    for text in &args.words {
        let command = words(text).map_err(|why| usage(format!("--command {text:?}: {why}")))?;
        commands.push(command.ok_or_else(|| usage("--command: there is no command".into()))?);
    }
    if let Some(file) = &args.list {
        let found = in_list(&read(file)?);
        let at = |(line, why)| usage(format!("{}:{line}: {why}", file.display()));
        let found = found.map_err(at)?;
        if found.is_empty() {
            return Err(usage(format!("{}: there are no commands", file.display())));
        }
        commands.extend(found);
    }
    Ok(commands)
}

fn usage(why: String) -> Failure {
    Failure::new(USAGE, why)
}

fn read(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_string(&mut text).map(drop),
        false => fs::read_to_string(file).map(|all| text = all),
    };
    read.map_err(|error| {
        usage(format!(
            "the list {} cannot be read: {error}",
            file.display()
        ))
    })?;
    Ok(text)
}

/// The commands in the lines of `text`, or the number of a line that is none, and why.
fn in_list(text: &str) -> Result<Vec<Command>, (usize, &'static str)> {
    let lines = text.lines().enumerate();
    let commands = lines.map(|(index, line)| words(line).map_err(|why| (index + 1, why)));
    commands.filter_map(Result::transpose).collect()
}

/// The words of a command; none if there is nothing, or a remark.
fn words(text: &str) -> Result<Option<Command>, &'static str> {
    let words = shlex::split(text).ok_or("a quote is not closed")?;
    let command: Command = words.into_iter().map(OsString::from).collect();
    Ok((!command.is_empty()).then_some(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_unless_it_is_a_remark() {
        let text = "# remark\n\ngit status # another\n  sh -c 'a b; c' \"d e\" \\#f\n";
        let commands = in_list(text).expect("all lines are right");
        let wanted: [&[&str]; 2] = [&["git", "status"], &["sh", "-c", "a b; c", "d e", "#f"]];
        assert_eq!(commands, wanted);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_named_by_its_line() {
        assert_eq!(
            in_list("true\nsh -c 'a\n"),
            Err((2, "a quote is not closed"))
        );
        assert_eq!(words("  # nothing"), Ok(None));
    }
}
