//! The tools of a run, checked before the program starts.

use super::{Found, NONE, Shelf, knobs};
use ppin_sdk::prelude::Tool;

/// See the module.
#[derive(Debug, Default)]
pub struct Choice {
    tools: Vec<Found>,
}

impl Choice {
    /// The tools that `words` mean, with the knobs that were given (name and value). Tools that
    /// were given knobs, and several at once, are loaded here and asked whether they take them: the
    /// runtime configures its own copies.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn new(words: &[String], given: &[(String, String)]) -> Result<Self, String> {
        let named = words.iter().filter(|word| *word != NONE);
        let tools = named.map(|word| Found::by_word(word));
        let mut tools = tools.collect::<Result<Vec<_>, _>>()?;
        for (name, value) in given {
            let (place, name) = knobs::meant(name, &tools)?;
            tools[place].chosen.knobs.push(format!("{name}={value}"));
        }
        let choice = Self { tools };
        if choice.tools.len() > 1 || !given.is_empty() {
            choice.ask()?;
        }
        Ok(choice)
    }

    /// The tools.
    pub fn tools(&self) -> &[Found] {
        &self.tools
    }

    /// Lets the tools judge their knobs, and counts what they need together.
    fn ask(&self) -> Result<(), String> {
        let mut shelf = Shelf::default();
        let mut configured: Vec<Box<dyn Tool>> = Vec::new();
        for found in &self.tools {
            let mut tool = shelf.load(found)?;
            tool.configure(&found.chosen.pairs())?;
            configured.push(tool);
        }
        let together = ppin_door::joined(configured);
        together.map(drop).map_err(|why| why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(words: &str, given: &[(&str, &str)]) -> Result<Choice, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let given = given.iter().map(|(n, v)| ((*n).into(), (*v).into()));
        Choice::new(&words, &given.collect::<Vec<_>>())
    }

    #[test]
    fn null_is_no_tool_at_all() {
        assert_eq!(choice("", &[]).unwrap().tools().len(), 0);
        assert_eq!(choice("null", &[]).unwrap().tools().len(), 0);
        assert_eq!(choice("null icount null", &[]).unwrap().tools().len(), 1);
    }

    #[test]
    fn each_tool_judges_its_own_knobs() {
        let two = choice("opcodemix memtrace", &[("top", "3"), ("file", "x")]).unwrap();
        assert_eq!(two.tools()[0].chosen.knobs, ["top=3"]);
        assert_eq!(two.tools()[1].chosen.knobs, ["file=x"]);
        let why = choice("opcodemix", &[("top", "many")]).unwrap_err();
        assert_eq!(why, "knob top takes a number, not \"many\"");
        let why = choice("icount", &[("top", "1")]).unwrap_err();
        assert_eq!(why, "icount has no knob top");
    }

    #[test]
    fn tools_with_too_many_counters_together_are_refused() {
        let why = choice(&"icount ".repeat(65), &[]).unwrap_err();
        assert!(why.contains("65 counters"), "{why}");
    }
}
