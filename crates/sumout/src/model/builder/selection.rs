//! What can be wrong with a tested CPT.

use crate::model::builder::Builder;
use crate::model::builder::check::{Mistake, Site, miscount, rounded, settle};
use crate::model::cpt::Body;
use crate::model::network::Network;
use crate::model::selection::{LARGEST_WEIGHT, Selection, Sight, Tested};

/// What a test is of has so many values at most: its posterior is one of a variable with a value
/// for each joint state of the parents, and a table from these to those.
const MOST_TESTED: usize = 2048;

impl Builder {
    /// Checks a tested CPT: its copies, and its test.
    pub(super) fn check_tested(&mut self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let Some(tested) = self.tested_draft(index) else {
            return Ok(());
        };
        let title = self.title(index);
        let wrong =
            |message: String, hint: &str| Err(Mistake::new(Site::Cpt(index), message).hint(hint));
        if self.is_markov {
            return wrong(
                format!("{title} is tested"),
                "only Bayesian networks have tests",
            );
        }
        if cards.len() < 2 {
            return wrong(
                format!("{title} is tested, and has no parents"),
                "a test is one of the parents' posterior",
            );
        }
        if tested.roles.len() < 2 || tested.test.copies != tested.roles.len() {
            let message = match tested.roles.len() {
                0 => format!("{title} is tested, and has no copies"),
                1 => format!("{title} is tested, and has a single copy"),
                copies => format!(
                    "{title} has {copies} copies, and a test for {}",
                    tested.test.copies
                ),
            };
            return wrong(
                message,
                "give two copies or more, and one threshold less for each row",
            );
        }
        self.check_softmax(index, cards)?; // whose rows a table may be made of
        let axes: Vec<usize> = [tested.roles.len()]
            .into_iter()
            .chain(cards.iter().copied())
            .collect();
        if let Some(message) = miscount(&title, &axes, "numbers", tested.table.len()) {
            return Err(Mistake::new(Site::Numbers(index), message));
        }
        let rows: usize = cards[..cards.len() - 1].iter().product();
        if rows > MOST_TESTED && !matches!(tested.test.selection, Selection::Softmax { .. }) {
            let message = format!("the test of {title} is of {rows} joint states of its parents");
            return wrong(message, "a test is of 2048 at most: give it fewer parents");
        }
        self.check_test(index, cards)?;
        self.check_copies(index, cards)
    }

    fn tested_draft(&self, index: usize) -> Option<&Tested> {
        if let Body::Tested(tested) = &self.drafts[index].body {
            Some(tested)
        } else {
            None
        }
    }

    fn check_copies(&mut self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let card = cards[cards.len() - 1];
        let rows: usize = cards[..cards.len() - 1].iter().product();
        let normalize = self.normalize;
        let Body::Tested(tested) = &mut self.drafts[index].body else {
            return Ok(());
        };
        if let Some(at) = tested.table.iter().position(|p| !p.is_finite() || *p < 0.0) {
            let number = tested.table[at];
            return Err(self.no_number(index, at, number));
        }
        tested.table.iter_mut().for_each(|p| *p += 0.0); // -0.0 becomes 0.0
        let Some(row) = tested
            .table
            .chunks_exact_mut(card)
            .position(|row| !settle(row, normalize))
        else {
            return Ok(());
        };
        let sum = tested.table[row * card..(row + 1) * card].iter().sum();
        let title = format!(
            "copy {} of {}",
            row / rows + 1,
            self.row_title(index, row % rows)
        );
        let message = format!("{title} sums to {}, not 1", rounded(sum));
        Err(Mistake::new(Site::Row(index, row), message).row_hint(sum))
    }

    fn check_test(&self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let Some(tested) = self.tested_draft(index) else {
            return Ok(());
        };
        let title = self.title(index);
        let test = &tested.test;
        let wrong_in = |part, message: String, hint: &str| {
            Err(Mistake::new(Site::Test(index, part), message).hint(hint))
        };
        let wrong = |message: String, hint: &str| wrong_in("thresholds", message, hint);
        let rows: usize = cards[..cards.len() - 1].iter().product();
        let needed = if test.selection.has_thresholds() {
            rows * (test.copies - 1)
        } else {
            0
        };
        if test.thresholds.len() != needed {
            let message = format!(
                "the test of {title} needs {needed} thresholds, not {}",
                test.thresholds.len()
            );
            return wrong(
                message,
                "give one less than there are copies for each joint state of the parents",
            );
        }
        if let Some(bad) = test.thresholds.iter().find(|t| !(0.0..=1.0).contains(*t)) {
            return wrong(
                format!("a threshold of {title} is {bad}"),
                "thresholds are numbers from 0 to 1",
            );
        }
        let falls = |row: &&[f64]| !row.is_sorted();
        if let Some(row) = test
            .thresholds
            .chunks_exact((test.copies - 1).max(1))
            .find(falls)
        {
            return wrong(
                format!("the thresholds {row:?} of {title} decrease"),
                "write them in increasing order",
            );
        }
        match &test.selection {
            Selection::Sigmoid { slope, .. } if !(slope.is_finite() && *slope > 0.0) => {
                let message = format!("the slope of the test of {title} is {slope}");
                wrong_in("slope", message, "slopes are positive; 12 is a good one")
            }
            Selection::Linear if test.copies != 2 => {
                let message = format!("{title} has {} copies, and a linear test", test.copies);
                wrong_in("select", message, "a linear test has two")
            }
            _ => Ok(()),
        }
    }

    fn check_softmax(&self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let Some(tested @ Tested { test, .. }) = self.tested_draft(index) else {
            return Ok(());
        };
        let Selection::Softmax {
            of,
            weights,
            biases,
        } = &test.selection
        else {
            return Ok(());
        };
        let title = self.title(index);
        let wrong = |message: String, hint: &str| {
            Err(Mistake::new(Site::Test(index, "weights"), message).hint(hint))
        };
        if of.is_empty() || of.iter().any(|v| v.index() >= self.variables.len()) {
            return wrong(
                format!("the test of {title} is of no variables"),
                "name some whose evidence decides",
            );
        }
        let width: usize = of.iter().map(|v| self.card(v.index())).sum();
        let logits: f64 = cards[..cards.len() - 1]
            .iter()
            .map(|&card| card as f64)
            .product::<f64>()
            * test.copies as f64;
        let is_for_all = biases.len() == test.copies && !tested.table.is_empty();
        if weights.len() != width * biases.len() || !(is_for_all || biases.len() as f64 == logits) {
            let message = format!(
                "the softmax of {title} has {} biases and {} weights",
                biases.len(),
                weights.len()
            );
            let biases = match tested.table.is_empty() || tested.is_direct() {
                true => {
                    format!("without copies it needs {logits} biases, one for each row and value")
                }
                false => format!(
                    "it needs {} biases, one for each copy, or {logits}, for each row",
                    test.copies
                ),
            };
            return wrong(
                message,
                &format!("{biases}; and for each bias {width} weights"),
            );
        }
        match weights
            .iter()
            .chain(biases)
            .find(|x| x.is_nan() || x.abs() > LARGEST_WEIGHT)
        {
            Some(bad) => wrong(
                format!("a weight of the test of {title} is {bad:e}"),
                "weights are numbers from -1e9 to 1e9",
            ),
            None => Ok(()),
        }
    }
}

/// Refuses tests of evidence that they cannot see.
pub(super) fn check_sight(net: &Network, draft_of: impl Fn(usize) -> usize) -> Result<(), Mistake> {
    for (cpt, v) in net
        .cpts()
        .iter()
        .filter_map(|cpt| Some((cpt, cpt.child()?)))
    {
        let selection = cpt.tested().map(|tested| &tested.test.selection);
        let Some(Selection::Softmax { of, .. }) = selection else {
            continue;
        };
        let seen = net.seen_by(v);
        if let Some(hidden) = of.iter().find(|u| !seen.contains(**u)) {
            let (name, hidden) = (&net.variable(v).name, &net.variable(*hidden).name);
            let message =
                format!("the test of `{name}` is of `{hidden}`, whose evidence it does not see");
            let hint = match net.sight() {
                Sight::Ancestral => {
                    "by the ancestral rule a test sees its ancestors: name some of them in `of`"
                }
                _ => {
                    "name variables in `of` that are not at or below a tested one, or are ancestors of this one"
                }
            };
            return Err(Mistake::new(Site::Test(draft_of(v.index()), "of"), message).hint(hint));
        }
    }
    Ok(())
}
