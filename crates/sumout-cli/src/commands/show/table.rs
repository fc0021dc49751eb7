//! `sumout show MODEL VAR`: the CPT of a variable, and which variables it depends on.

use std::io::Write;

use serde_json::{Value, json};
use sumout::model::Body;
use sumout::{Cpt, Error, ErrorKind, Network, VarId};

use super::{factors as parts, kind, names};
use crate::output::Result;
use crate::text::{Align, counted, probability, table};

/// At most this many rows of a CPT are printed, half of them the first and half the last.
const ROWS: usize = 32;

/// Prints one variable: its values, its neighbours and its CPT.
pub(super) fn print(net: &Network, var: VarId, whole: bool, out: &mut dyn Write) -> Result<()> {
    let variable = net.variable(var);
    let list = |vars: &[VarId]| match vars {
        [] => "-".to_owned(),
        vars => names(net, vars).join(", "),
    };
    let mut lines = vec![
        ["variable".to_owned(), variable.name.clone()],
        ["values".to_owned(), variable.values.join(", ")],
    ];
    if !net.is_markov() {
        lines.push(["parents".to_owned(), list(net.parents(var))]);
        lines.push(["children".to_owned(), list(&children(net, var))]);
    }
    lines.push(["Markov blanket".to_owned(), list(&net.markov_blanket(var))]);
    table(out, [Align::Left; 2], &lines)?;
    for cpt in factors(net, var) {
        writeln!(out)?;
        print_cpt(net, cpt, whole, out)?;
    }
    Ok(())
}

/// The variables that it is a parent of.
fn children(net: &Network, var: VarId) -> Vec<VarId> {
    let is_child = |v: &VarId| net.parents(*v).contains(&var);
    net.ids().filter(is_child).collect()
}

/// Its CPT; in a Markov network the factors that mention it.
fn factors(net: &Network, var: VarId) -> impl Iterator<Item = &Cpt> {
    let is_own = move |cpt: &&Cpt| match cpt.child() {
        Some(child) => child == var,
        None => cpt.scope().contains(&var),
    };
    net.cpts().iter().filter(is_own)
}

fn print_cpt(net: &Network, cpt: &Cpt, whole: bool, out: &mut dyn Write) -> Result<()> {
    if cpt.selected().is_some() {
        writeln!(out, "CPT: {}; `--json` has its rule", kind(cpt))?;
        return Ok(());
    }
    let grid = Grid::new(net, cpt);
    let shown = if whole {
        grid.rows
    } else {
        grid.rows.min(ROWS)
    };
    let (first, last) = (shown.div_ceil(2), shown / 2);
    let mut lines = vec![grid.title(net)];
    lines.extend((0..first).map(|row| grid.line(net, row)));
    if shown < grid.rows {
        lines.push(vec!["…".to_owned(); lines[0].len()]);
    }
    lines.extend((grid.rows - last..grid.rows).map(|row| grid.line(net, row)));
    table(out, grid.align(), &lines)?;
    if shown < grid.rows {
        let hidden = counted(grid.rows - shown, "row");
        writeln!(out, "{hidden} left out; `--whole` prints all")?;
    }
    Ok(())
}

/// A CPT as rows, one for each joint state of the parents.
struct Grid<'n> {
    parents: &'n [VarId],
    rows: usize,
    numbers: Numbers<'n>,
}

enum Numbers<'n> {
    /// The value of a function in each row.
    Function(VarId, &'n [u32]),
    /// The probabilities of the values of a variable.
    Rows(VarId, Vec<f64>),
    /// The entries of a factor.
    Entries(Vec<f64>),
}

impl<'n> Grid<'n> {
    fn new(net: &Network, cpt: &'n Cpt) -> Self {
        let table = || cpt.table(&net.cards());
        let (parents, numbers) = match (cpt.child(), cpt.body()) {
            (Some(child), Body::Function(values)) => {
                (cpt.parents(), Numbers::Function(child, values))
            }
            (Some(child), _) => (cpt.parents(), Numbers::Rows(child, table())),
            (None, _) => (cpt.scope(), Numbers::Entries(table())),
        };
        let rows = parents.iter().map(|&p| net.card(p)).product();
        Grid {
            parents,
            rows,
            numbers,
        }
    }

    fn title(&self, net: &Network) -> Vec<String> {
        let parents = self.parents.iter().map(|&p| net.variable(p).name.clone());
        parents.chain(self.columns(net)).collect()
    }

    /// The titles of the numbers.
    fn columns(&self, net: &Network) -> Vec<String> {
        match &self.numbers {
            Numbers::Function(child, _) => vec![format!("{} =", net.variable(*child).name)],
            Numbers::Rows(child, _) => net.variable(*child).values.clone(),
            Numbers::Entries(_) => vec!["factor".to_owned()],
        }
    }

    /// The values of the parents in a row, the last one fastest.
    fn state(&self, net: &Network, mut row: usize) -> Vec<String> {
        let mut state = vec![];
        for &parent in self.parents.iter().rev() {
            let values = &net.variable(parent).values;
            state.insert(0, values[row % values.len()].clone());
            row /= values.len();
        }
        state
    }

    fn line(&self, net: &Network, row: usize) -> Vec<String> {
        let mut line = self.state(net, row);
        match &self.numbers {
            Numbers::Function(child, values) => {
                line.push(net.variable(*child).values[values[row] as usize].clone());
            }
            Numbers::Rows(child, numbers) => {
                let card = net.card(*child);
                let own = &numbers[row * card..][..card];
                line.extend(own.iter().map(|&p| probability(p)));
            }
            Numbers::Entries(numbers) => line.push(format!("{}", numbers[row])),
        }
        line
    }

    fn align(&self) -> Vec<Align> {
        let (kind, count) = match &self.numbers {
            Numbers::Function(..) => (Align::Left, 1),
            Numbers::Rows(_, numbers) => (Align::Right, numbers.len() / self.rows.max(1)),
            Numbers::Entries(_) => (Align::Right, 1),
        };
        [vec![Align::Left; self.parents.len()], vec![kind; count]].concat()
    }
}

/// All of it for programs, whatever its size.
pub(super) fn json(net: &Network, var: VarId) -> Value {
    let cards = net.cards();
    let factor = |cpt: &Cpt| {
        let mut factor = parts::factor(net, &cards, cpt);
        if cpt.selected().is_none() {
            factor["table"] = json!(cpt.table(&cards));
        }
        if let Body::Function(values) = cpt.body() {
            factor["function"] = json!(values);
        }
        factor
    };
    let variable = net.variable(var);
    json!({
        "name": variable.name,
        "values": variable.values,
        "parents": names(net, net.parents(var)),
        "children": names(net, &children(net, var)),
        "markov_blanket": names(net, &net.markov_blanket(var)),
        "factors": factors(net, var).map(factor).collect::<Vec<_>>(),
    })
}

/// The two sides of `--separated`, and the variables of `--given`.
pub(super) struct Separation {
    sides: [VarId; 2],
    given: Vec<VarId>,
}

impl Separation {
    pub fn new(net: &Network, sides: &[String], given: &[String]) -> sumout::Result<Self> {
        let named = |name: &String| match name.split_once('=') {
            Some((left, _)) if net.find(name).is_err() && net.find(left).is_ok() => {
                let message = format!("`{name}` names a variable and a value");
                let error = Error::new(ErrorKind::Name, message);
                Err(error.hint(format!(
                    "write `{left}`: separation is the same for all values"
                )))
            }
            _ => net.matching(name),
        };
        let given: sumout::Result<Vec<Vec<VarId>>> = given.iter().map(named).collect();
        let [a, b] = [&sides[0], &sides[1]].map(|name| net.find(name));
        let (sides, given) = ([a?, b?], given?.concat());
        if sides[0] == sides[1] || sides.iter().any(|side| given.contains(side)) {
            let message = "separation is between two different variables that are not given";
            let error = Error::new(ErrorKind::Options, message);
            return Err(error.hint("write for example `--separated a b --given c`"));
        }
        Ok(Separation { sides, given })
    }

    fn holds(&self, net: &Network) -> bool {
        net.is_separated(&self.sides[..1], &self.sides[1..], &self.given)
    }

    pub fn print(&self, net: &Network, out: &mut dyn Write) -> Result<()> {
        let [a, b] = self.sides.map(|v| &*net.variable(v).name);
        let given = match &self.given[..] {
            [] => String::new(),
            given => format!(" given {}", names(net, given).join(", ")),
        };
        let line = match self.holds(net) {
            true => {
                format!("{a} and {b} are separated{given}: independent, whatever the numbers are")
            }
            false => format!(
                "{a} and {b} are connected{given}: the graph lets them depend on each other"
            ),
        };
        writeln!(out, "{line}")?;
        Ok(())
    }

    pub fn json(&self, net: &Network) -> Value {
        json!({
            "variables": names(net, &self.sides),
            "given": names(net, &self.given),
            "separated": self.holds(net),
        })
    }
}
