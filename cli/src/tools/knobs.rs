//! Which tool a knob is for.
//!
//! `NAME=VALUE` is for the only tool of the run, or for the only one that has a knob of this name.
//! `TOOL:NAME=VALUE` says which one: TOOL is its name, or its place among the `-t` options, from 1
//! on.

use super::Found;

/// The number of the tool that a knob called `name` on the command line is for, and its name there.
///
/// # Errors
/// Why there is no such tool, or more than one.
pub fn meant<'a>(name: &'a str, tools: &[Found]) -> Result<(usize, &'a str), String> {
    if let Some((tool, knob)) = name.split_once(':') {
        return Ok((called(tool, tools)?, knob));
    }
    let has = |tool: &Found| tool.card.knobs.iter().any(|knob| knob.name == name);
    let places = || (0..tools.len()).filter(|n| has(&tools[*n]));
    match (tools.len(), places().count()) {
        (0, _) => Err(format!("there is no tool (-t) for the knob {name}")),
        // The tool itself says which knobs it has.
        (1, _) => Ok((0, name)),
        (_, 0) => Err(format!("none of the tools has a knob {name}")),
        (_, 1) => Ok((places().next().unwrap_or(0), name)),
        _ => Err(format!(
            "several tools have a knob {name}: say TOOL:{name}=VALUE, where TOOL is the name of a \
             tool, or its number among those given"
        )),
    }
}

/// The place of the tool called `word`.
fn called(word: &str, tools: &[Found]) -> Result<usize, String> {
    if let Ok(number) = word.parse::<usize>() {
        let place = number.checked_sub(1).filter(|n| *n < tools.len());
        return place.ok_or_else(|| format!("there is no tool number {number} in this run"));
    }
    let mut places = (0..tools.len()).filter(|n| tools[*n].card.name == word);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(format!("there is no tool {word} in this run")),
        _ => Err(format!(
            "several tools of this run are called {word}: say which by its number, from 1 on"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Vec<Found> {
        let found = names.iter().map(|name| Found::by_word(name));
        found.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_knob_goes_to_the_tool_that_has_it() {
        let tools = tools(&["bbcount", "memtrace", "opcodemix"]);
        for (name, want) in [
            ("file", (1, "file")),
            ("top", (2, "top")),
            ("opcodemix:top", (2, "top")),
            ("3:top", (2, "top")),
            ("1:other", (0, "other")),
        ] {
            assert_eq!(meant(name, &tools), Ok(want));
        }
        for (name, why) in [
            ("none", "none of the tools"),
            ("icount:top", "no tool icount"),
            ("0:top", "no tool number 0"),
            ("4:top", "no tool number 4"),
        ] {
            let said = meant(name, &tools).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_knob_that_two_tools_have_needs_a_tool() {
        let tools = tools(&["opcodemix", "opcodemix"]);
        assert!(meant("top", &tools).unwrap_err().contains("TOOL:top=VALUE"));
        let said = meant("opcodemix:top", &tools).unwrap_err();
        assert!(said.contains("by its number"), "{said}");
        assert_eq!(meant("2:top", &tools), Ok((1, "top")));
    }

    #[test]
    fn the_only_tool_gets_every_knob() {
        assert_eq!(meant("what", &tools(&["bbcount"])), Ok((0, "what")));
        assert!(meant("what", &[]).is_err());
    }
}
