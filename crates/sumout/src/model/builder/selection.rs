//! Refuses selected CPTs that cannot be.

use crate::model::builder::Builder;
use crate::model::builder::check::{Mistake, Site, miscount, rounded};
use crate::model::cpt::Body;
use crate::model::network::Network;
use crate::model::selection::{LARGEST_WEIGHT, SelectedCpt, SelectionKind, Sight};

/// The largest number of joint states of the parents: the tested posterior is one of a variable
/// with a value for each of them, and a table from these to those.
const MAX_ROWS: usize = 2048;

impl Builder {
    /// Checks a selected CPT: its copies, and its selection.
    pub(super) fn check_selected(&mut self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let Some(it) = self.selected_draft(index) else {
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
        if it.roles.len() < 2 || it.selection.copies != it.roles.len() {
            let message = match it.roles.len() {
                0 => format!("{title} is tested, and has no copies"),
                1 => format!("{title} is tested, and has a single copy"),
                copies => format!(
                    "{title} has {copies} copies, and a test for {}",
                    it.selection.copies
                ),
            };
            return wrong(
                message,
                "give two copies or more, and one threshold less for each row",
            );
        }
        self.check_softmax(index, cards)?; // whose rows a table may be made of
        let axes: Vec<usize> = [it.roles.len()]
            .into_iter()
            .chain(cards.iter().copied())
            .collect();
        if let Some(message) = miscount(&title, &axes, "numbers", it.table.len()) {
            return Err(Mistake::new(Site::Numbers(index), message));
        }
        let rows: usize = cards[..cards.len() - 1].iter().product();
        if rows > MAX_ROWS && !matches!(it.selection.kind, SelectionKind::Softmax { .. }) {
            let message = format!("the test of {title} is of {rows} joint states of its parents");
            return wrong(message, "a test is of 2048 at most: give it fewer parents");
        }
        self.check_selection(index, cards)?;
        self.check_copies(index, cards)
    }

    fn selected_draft(&self, index: usize) -> Option<&SelectedCpt> {
        if let Body::Selected(it) = &self.drafts[index].body {
            Some(it)
        } else {
            None
        }
    }

    fn check_copies(&mut self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let card = cards[cards.len() - 1];
        let rows: usize = cards[..cards.len() - 1].iter().product();
        let (normalize, rescaled) = (self.normalize, &mut self.rescaled);
        let Body::Selected(it) = &mut self.drafts[index].body else {
            return Ok(());
        };
        if let Some(at) = it.table.iter().position(|p| !p.is_finite() || *p < 0.0) {
            let number = it.table[at];
            return Err(self.no_number(index, at, number));
        }
        it.table.iter_mut().for_each(|p| *p += 0.0); // -0.0 becomes 0.0
        let Some(row) = it
            .table
            .chunks_exact_mut(card)
            .position(|row| !rescaled.settle(row, normalize, || 0.0))
        else {
            return Ok(());
        };
        let sum = it.table[row * card..(row + 1) * card].iter().sum();
        let title = format!(
            "copy {} of {}",
            row / rows + 1,
            self.row_title(index, row % rows)
        );
        let message = format!("{title} sums to {}, not 1", rounded(sum));
        Err(Mistake::new(Site::Row(index, row), message).row_hint(sum, false))
    }

    fn check_selection(&self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let Some(it) = self.selected_draft(index) else {
            return Ok(());
        };
        let title = self.title(index);
        let by = &it.selection;
        let wrong_in = |part, message: String, hint: &str| {
            Err(Mistake::new(Site::Selection(index, part), message).hint(hint))
        };
        let wrong = |message: String, hint: &str| wrong_in("thresholds", message, hint);
        let rows: usize = cards[..cards.len() - 1].iter().product();
        let needed = if by.kind.has_thresholds() {
            rows * (by.copies - 1)
        } else {
            0
        };
        if by.thresholds.len() != needed {
            let message = format!(
                "the test of {title} needs {needed} thresholds, not {}",
                by.thresholds.len()
            );
            return wrong(
                message,
                "give one less than there are copies for each joint state of the parents",
            );
        }
        if let Some(bad) = by.thresholds.iter().find(|t| !(0.0..=1.0).contains(*t)) {
            return wrong(
                format!("a threshold of {title} is {bad}"),
                "thresholds are numbers from 0 to 1",
            );
        }
        let falls = |row: &&[f64]| !row.is_sorted();
        if let Some(row) = by
            .thresholds
            .chunks_exact((by.copies - 1).max(1))
            .find(falls)
        {
            return wrong(
                format!("the thresholds {row:?} of {title} decrease"),
                "write them in increasing order",
            );
        }
        match &by.kind {
            SelectionKind::Sigmoid { slope, .. } if !(slope.is_finite() && *slope > 0.0) => {
                let message = format!("the slope of the test of {title} is {slope}");
                wrong_in("slope", message, "slopes are positive; 12 is a good one")
            }
            SelectionKind::Linear if by.copies != 2 => {
                let message = format!("{title} has {} copies, and a linear test", by.copies);
                wrong_in("select", message, "a linear test has two")
            }
            _ => Ok(()),
        }
    }

    fn check_softmax(&self, index: usize, cards: &[usize]) -> Result<(), Mistake> {
        let Some(it) = self.selected_draft(index) else {
            return Ok(());
        };
        let SelectionKind::Softmax {
            of,
            weights,
            biases,
        } = &it.selection.kind
        else {
            return Ok(());
        };
        let title = self.title(index);
        let wrong = |message: String, hint: &str| {
            Err(Mistake::new(Site::Selection(index, "weights"), message).hint(hint))
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
            * it.selection.copies as f64;
        let is_for_all = biases.len() == it.selection.copies && !it.table.is_empty();
        if weights.len() != width * biases.len() || !(is_for_all || biases.len() as f64 == logits) {
            let message = format!(
                "the softmax of {title} has {} biases and {} weights",
                biases.len(),
                weights.len()
            );
            let biases = if it.table.is_empty() || it.is_direct() {
                format!("without copies it needs {logits} biases, one for each row and value")
            } else {
                let copies = it.selection.copies;
                format!("it needs {copies} biases, one for each copy, or {logits}, for each row")
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

/// Refuses selections by evidence that they do not see.
pub(super) fn check_sight(net: &Network, draft_of: impl Fn(usize) -> usize) -> Result<(), Mistake> {
    for (cpt, v) in net
        .cpts()
        .iter()
        .filter_map(|cpt| Some((cpt, cpt.child()?)))
    {
        let selection = cpt.selected().map(|it| &it.selection.kind);
        let Some(SelectionKind::Softmax { of, .. }) = selection else {
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
            return Err(
                Mistake::new(Site::Selection(draft_of(v.index()), "of"), message).hint(hint),
            );
        }
    }
    Ok(())
}
