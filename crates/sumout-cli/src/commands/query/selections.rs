//! The selections of a testing network.

use std::io::{self, Write};

use serde_json::{Value, json};
use sumout::model::SelectedCpt;
use sumout::{Error, ErrorKind, Evidence, Network, Options, Selected};

use crate::text::{Align, probability, table};

/// A test with the joint states of its parents.
pub(super) struct Shown {
    selected: Selected,
    /// The position of the value of each parent, for each row of the CPT.
    rows: Vec<Vec<usize>>,
}

/// The selections of all tests; none if the evidence is impossible for one of them.
pub(super) fn selections(
    net: &Network,
    evidence: &Evidence,
    options: &Options,
) -> sumout::Result<Vec<Shown>> {
    if !net.has_selections() {
        let error = Error::new(
            ErrorKind::Unsupported,
            format!("network `{}` has no tests", net.name()),
        );
        return Err(error.hint("leave out `--tests`"));
    }
    let found = net.selections(evidence, options)?.unwrap_or_default();
    Ok(found
        .into_iter()
        .map(|selected| Shown {
            rows: rows(net, &selected),
            selected,
        })
        .collect())
}

fn rows(net: &Network, selected: &Selected) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![]];
    for &parent in net.parents(selected.variable()) {
        let with =
            |row: Vec<usize>| (0..net.card(parent)).map(move |value| [&row[..], &[value]].concat());
        rows = rows.into_iter().flat_map(with).collect();
    }
    rows
}

impl Shown {
    fn weights(&self, row: usize) -> &[f64] {
        let copies = self.selected.weights().len() / self.rows.len();
        &self.selected.weights()[row * copies..][..copies]
    }

    /// The values of the parents in a row.
    fn values<'n>(&self, net: &'n Network, row: usize) -> impl Iterator<Item = (&'n str, &'n str)> {
        let parents = net
            .parents(self.selected.variable())
            .iter()
            .map(|&parent| net.variable(parent));
        let named = |(parent, &value): (&'n sumout::Variable, &usize)| {
            (&*parent.name, &*parent.values[value])
        };
        parents
            .zip(&self.rows[row])
            .map(named)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The labels of the copies: where rows are a softmax themselves, they are the values.
    fn copies(&self, net: &Network) -> Vec<String> {
        let variable = self.selected.variable();
        match net.cpts()[variable.index()]
            .selected()
            .is_some_and(SelectedCpt::is_direct)
        {
            true => net.variable(variable).values.clone(),
            false => (1..=self.weights(0).len())
                .map(|copy| format!("copy {copy}"))
                .collect(),
        }
    }

    pub fn to_json(&self, net: &Network) -> Value {
        let row = |row: usize| {
            let posterior = self
                .selected
                .posterior()
                .as_ref()
                .map(|posterior| posterior[row]);
            let parents: Value = self
                .values(net, row)
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            json!({"parents": parents, "posterior": posterior, "weights": self.weights(row)})
        };
        let rows: Vec<Value> = (0..self.rows.len()).map(row).collect();
        json!({"tested": net.variable(self.selected.variable()).name, "rows": rows})
    }

    pub fn print(&self, net: &Network, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "\nthe CPT of {}:",
            net.variable(self.selected.variable()).name
        )?;
        let parents = net.parents(self.selected.variable());
        let mut lines: Vec<Vec<String>> = vec![
            parents
                .iter()
                .map(|&parent| net.variable(parent).name.clone())
                .collect(),
        ];
        lines[0].extend(
            self.selected
                .posterior()
                .as_ref()
                .map(|_| "posterior".to_owned()),
        );
        lines[0].extend(self.copies(net));
        for row in 0..self.rows.len() {
            let mut line: Vec<String> = self
                .values(net, row)
                .map(|(_, value)| value.to_owned())
                .collect();
            line.extend(
                self.selected
                    .posterior()
                    .as_ref()
                    .map(|posterior| probability(posterior[row])),
            );
            line.extend(self.weights(row).iter().map(|w| probability(*w)));
            lines.push(line);
        }
        let numbers = lines[0].len() - parents.len();
        let align = [
            vec![Align::Left; parents.len()],
            vec![Align::Right; numbers],
        ]
        .concat();
        table(out, align, &lines)
    }
}
