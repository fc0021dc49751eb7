//! Which parts of the tables are computed, and how.

use sumout::Objective;

use crate::printed::EXAMPLES;
use crate::scenes::Noise;

/// Which parts of the tables are computed, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Only rows whose names begin with one of these; all rows if there are none.
    pub rows: Vec<String>,
    /// Fewer rows, networks and runs, and a shorter search.
    pub quick: bool,
    /// The runs of Tables 2 and 4 for each number of examples; a usual number if not given.
    pub runs: Option<usize>,
    /// Whether Tables 2 and 4 have rows with trainable functions, which take long.
    pub trainable: bool,
    /// The numbers of examples in Tables 2 and 4; the usual ones if there are none.
    pub examples: Vec<usize>,
    /// Whether rectangles are made noisy as in the paper's text, and not as in its author's
    /// program.
    pub as_printed: bool,
    /// Seeds the search for plans, the examples, and the random networks.
    pub seed: u64,
    /// Scales the search for plans; a usual effort if not given.
    pub effort: Option<f64>,
    /// The quantity that the planner minimises for the random networks of Table 5.
    pub objective: Objective,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            rows: vec![],
            quick: false,
            runs: None,
            trainable: false,
            examples: vec![],
            as_printed: false,
            seed: 0,
            effort: None,
            objective: Objective::Entries,
        }
    }
}

/// The numbers of examples of a quick run.
const QUICK: [usize; 3] = [25, 100, 1000];

impl Settings {
    /// The effort of the search for plans.
    pub fn effort(&self) -> f64 {
        self.effort.unwrap_or(if self.quick { 0.1 } else { 1.0 })
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.unwrap_or(if self.quick { 4 } else { 25 })
    }

    /// The numbers of training examples.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let all = if self.quick { &QUICK[..] } else { &EXAMPLES };
        if self.examples.is_empty() {
            all.to_vec()
        } else {
            self.examples.clone()
        }
    }

    pub(crate) fn noise(&self) -> Noise {
        if self.as_printed {
            Noise::Printed
        } else {
            Noise::Released
        }
    }

    /// Whether a row is to be computed.
    pub(crate) fn has_row(&self, name: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| name.starts_with(row))
    }
}
