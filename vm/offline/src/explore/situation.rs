//! How far a run goes.

/// New traces of an image beyond which a run counts as its first.
const FEW: usize = 300;
/// Traces that a run which explores may add to an image, however small it is.
const MOST: usize = 6000;
/// So much of what is known of it may be added, too: few runs are enough for all.
const SHARE: u32 = 3;

/// What a run that ends knows of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Situation {
    /// The run is there to explore (`ppin warm`).
    pub exploring: bool,
    /// The image is the program's own file, not a library.
    pub own: bool,
    /// Traces that this run has added.
    pub fresh: usize,
    /// Traces of earlier runs.
    pub known: u32,
    /// Traces that the run may add if it does not explore.
    pub allowed: usize,
}

/// What to look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Approach {
    /// What follows new string code, whose ways depend on where in its page and in its vector a
    /// string lies. For first runs: all else would be too much.
    StringCode,
    /// What follows new traces, and the other sides of branches near them.
    NearBranches,
    /// The other sides of all branches that any run has executed.
    AllBranches,
}

impl Situation {
    /// What to look at.
    #[must_use]
    pub const fn approach(&self) -> Approach {
        let thorough = self.exploring && self.own;
        let unusual = self.fresh == 0 || self.fresh > FEW || self.known == 0;
        match () {
            () if unusual && !thorough => Approach::StringCode,
            () if self.exploring => Approach::AllBranches,
            () => Approach::NearBranches,
        }
    }

    /// Most traces to be added.
    #[must_use]
    pub const fn most(&self) -> usize {
        if !self.exploring {
            return self.allowed;
        }
        let share = (self.known / SHARE) as usize;
        if share > MOST { share } else { MOST }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Situation = Situation {
        exploring: false,
        own: true,
        fresh: 10,
        known: 1000,
        allowed: 7,
    };

    #[test]
    fn first_runs_look_around_string_code_only() {
        let first = Situation { known: 0, ..LATER };
        let many = Situation {
            fresh: FEW + 1,
            ..LATER
        };
        assert_eq!(first.approach(), Approach::StringCode);
        assert_eq!(many.approach(), Approach::StringCode);
        assert_eq!(LATER.approach(), Approach::NearBranches);
        assert_eq!(LATER.most(), 7);
    }

    #[test]
    fn exploring_is_thorough_in_the_program_itself() {
        let warm = Situation {
            exploring: true,
            known: 0,
            ..LATER
        };
        let library = Situation { own: false, ..warm };
        let nothing_new = Situation {
            fresh: 0,
            known: 1000,
            ..library
        };
        assert_eq!(warm.approach(), Approach::AllBranches);
        for library in [library, nothing_new] {
            assert_eq!(library.approach(), Approach::StringCode);
        }
        assert_eq!(warm.most(), MOST);
        let large = Situation {
            known: 30_000,
            ..warm
        };
        assert_eq!(large.most(), 10_000);
    }
}
