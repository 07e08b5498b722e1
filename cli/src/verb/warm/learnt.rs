//! What runs have added to the database, from their statistics.

use crate::text::count;
use serde_json::{Value, json};

/// Sums over the statistics of all processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Learnt {
    pub processes: u64,
    new: u64,
    reused: u64,
    explored: u64,
    bytes: u64,
    /// Nanoseconds in the VM.
    busy: u64,
    /// Why code of the database was not used.
    reasons: Vec<String>,
    /// How the program has ended, unless it was well.
    pub ended: String,
    /// How programs have ended that ran beside each other.
    ends: Vec<String>,
}

impl Learnt {
    /// Adds a line of statistics; a cut one is left out.
    pub fn add(&mut self, line: &str) {
        let Ok(stats) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let number = |key: &str| stats[key].as_u64().unwrap_or(0);
        self.processes += 1;
        self.new += number("traces_compiled");
        self.reused += number("traces_reused");
        self.explored += number("traces_anticipated");
        self.bytes += number("code_bytes_new");
        self.busy += stats["time_ns"]["vm"].as_u64().unwrap_or(0);
        let reasons = stats["cache"]["reject_reasons"].as_array();
        for reason in reasons.into_iter().flatten().filter_map(Value::as_str) {
            self.reason(reason);
        }
    }

    fn reason(&mut self, reason: &str) {
        if !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.to_owned());
        }
    }

    /// Takes out the reason `wanted`; returns whether it was there.
    pub fn take_reason(&mut self, wanted: &str) -> bool {
        let before = self.reasons.len();
        self.reasons.retain(|reason| reason != wanted);
        self.reasons.len() < before
    }

    /// Adds what the command `named` has brought.
    pub fn join(&mut self, other: Self, named: &str) {
        self.processes += other.processes;
        self.new += other.new;
        self.reused += other.reused;
        self.explored += other.explored;
        self.bytes += other.bytes;
        self.busy += other.busy;
        other.reasons.iter().for_each(|reason| self.reason(reason));
        if !other.ended.is_empty() {
            self.ends.push(format!("{named}: {}", other.ended));
        }
    }

    /// What was added, for people.
    pub fn text(&self) -> String {
        let plural = if self.processes == 1 { "" } else { "es" };
        let mut text = format!(
            "ppin: {} process{plural}, {} new, {} explored, {} reused",
            self.processes,
            count(self.new, "trace"),
            self.explored,
            self.reused
        );
        for remark in self
            .reasons
            .iter()
            .chain(&self.ends)
            .chain([&self.ended])
            .filter(|text| !text.is_empty())
        {
            text += &format!("\nppin: {remark}");
        }
        text
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "processes": self.processes,
            "traces_new": self.new,
            "traces_explored": self.explored,
            "traces_reused": self.reused,
            "code_bytes_new": self.bytes,
            "reasons": self.reasons,
            "ends": self.ends.iter().chain([&self.ended]).filter(|end| !end.is_empty()).collect::<Vec<_>>(),
        })
    }

    /// What users will pay, for people.
    pub fn cost_text(&self) -> String {
        format!(
            "ppin: run once more: {} compiled, {:.1} ms in ppin's own code for {} traces reused",
            count(self.new, "trace"),
            self.busy as f64 / 1e6,
            self.reused
        )
    }

    /// The same for programs.
    pub fn cost_json(&self) -> Value {
        json!({
            "processes": self.processes,
            "traces_compiled": self.new,
            "traces_reused": self.reused,
            "ns_in_ppin": self.busy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_summed() {
        let mut learnt = Learnt::default();
        let line = r#"{"traces_compiled":3,"traces_reused":4,"code_bytes_new":5,"time_ns":{"vm":1500000},"cache":{"reject_reasons":["why"]}}"#;
        learnt.add(line);
        learnt.add(line);
        learnt.add("{cut");
        assert_eq!(
            learnt.text(),
            "ppin: 2 processes, 6 traces new, 0 explored, 8 reused\nppin: why"
        );
        assert_eq!(
            learnt.cost_text(),
            "ppin: run once more: 6 traces compiled, 3.0 ms in ppin's own code for 8 traces reused"
        );
    }

    #[test]
    fn commands_are_summed_and_their_ends_named() {
        let mut all = Learnt::default();
        for ended in ["", "the program ended with status 1"] {
            let mut one = Learnt::default();
            one.add(r#"{"traces_compiled":1}"#);
            one.ended = ended.to_owned();
            all.join(one, "a b");
        }
        assert_eq!(
            all.text(),
            "ppin: 2 processes, 2 traces new, 0 explored, 0 reused\n\
             ppin: a b: the program ended with status 1"
        );
    }
}
