//! What a program does besides computing tensors: it forgets them, and says what they mean.

use std::collections::{BTreeMap, BTreeSet};

use super::{Emitter, Known, Line};
use crate::circuit::export::{Language, quoted};
use crate::tensor::Op;

impl Emitter<'_> {
    /// Hands what does not depend on evidence from one function to the other.
    pub(super) fn share_constants(&mut self) {
        let read = self.lines.iter().flat_map(|line| line.mentioned.iter().cloned()).chain(self.output().variables());
        let number = |name: String| (name[1..].parse().unwrap_or(0), name);
        let shared: BTreeSet<(usize, String)> = read.filter(|name| self.is_shared(name)).map(number).collect();
        let sizes = self.sizes();
        self.emitted.shared = shared.iter().filter_map(|(_, name)| sizes.get(name)).sum::<f64>() as usize;
        let names: String = shared.iter().map(|(_, name)| format!("{name}, ")).collect();
        let tuple = format!("({})", names.trim_end());
        self.emitted.constants.push(format!("        return {tuple}"));
        if !shared.is_empty() {
            self.emitted.forward.push(format!("        {tuple} = constant"));
        }
    }

    /// Deletes each tensor after the line that mentions it last, and counts how many numbers live at once.
    pub(super) fn forget_dead(&mut self) {
        let sizes = self.sizes();
        let size = |name: &String| sizes.get(name).copied().unwrap_or(0.0);
        let dead = self.dead();
        let (mut live, mut peak) = (0.0, 0.0f64);
        for (line, dead) in self.lines.iter().zip(&dead) {
            live += size(&line.tensor);
            peak = peak.max(live);
            live -= dead.iter().map(size).sum::<f64>();
            let del = if dead.is_empty() { String::new() } else { format!("; del {}", dead.join(", ")) };
            self.emitted.forward.push(format!("        {}{del}", line.text));
        }
        self.emitted.peak = peak as usize;
    }

    /// For each line, the variables that no later line mentions.
    fn dead(&self) -> Vec<Vec<String>> {
        let mut seen: BTreeSet<String> = self.output().variables().collect();
        let last = |line: &Line| {
            let own = line.mentioned.iter().filter(|name| !self.is_shared(name));
            own.filter(|name| seen.insert((*name).clone())).cloned().collect()
        };
        let mut dead: Vec<Vec<String>> = self.lines.iter().rev().map(last).collect();
        dead.reverse();
        dead
    }

    /// The number of entries of each tensor of an example.
    fn sizes(&self) -> BTreeMap<String, f64> {
        let named = |known: &Known| (known.name.clone(), self.shape(&known.axes).iter().map(|&n| n as f64).product());
        self.known.iter().map(named).collect()
    }

    /// Whether a variable of the program is the same for all examples.
    fn is_shared(&self, name: &str) -> bool {
        let place = name[1..].parse().ok().and_then(|place: usize| self.known.get(place));
        place.is_some_and(|known| !known.varies)
    }

    fn output(&self) -> &Known {
        &self.known[self.graph.output().index()]
    }

    /// The lines that make answers of the output.
    pub(super) fn finish(&mut self) {
        let Known { name, axes, varies, exponent, .. } = self.output().clone();
        let mut lines = vec![];
        if axes.is_empty() {
            lines.push(format!("output = {name}[..., None]"));
        } else {
            lines.push(format!("output = {name}"));
        }
        if !varies {
            lines.push(match self.language {
                Language::Torch => "output = output.expand(batch, -1)".into(),
                Language::Numpy => "output = np.broadcast_to(output, (batch, output.shape[-1]))".into(),
            });
        }
        let exponent = exponent.map_or(String::new(), |e| format!(" + {e} * 0.6931471805599453"));
        lines.extend(match self.language {
            Language::Torch => torch_ending(&exponent),
            Language::Numpy => numpy_ending(&exponent),
        });
        lines.extend(self.closed());
        lines.extend(self.posterior(axes.is_empty()));
        self.emitted.forward.extend(lines.into_iter().map(|line| format!("        {line}")));
    }

    /// Evidence on a variable of which one value is left is no tensor, but multiplies into P(e).
    fn closed(&self) -> Vec<String> {
        let log = if self.language == Language::Torch { "torch.log" } else { "log" };
        let is_closed = |v| self.graph.find(&Op::Evidence(v)).is_none();
        let line = |v| {
            let (variable, left) = (self.circuit.variable(v), &self.circuit.domains[v.index()]);
            let name = quoted(&variable.name);
            let given = format!("given({name}, {}, {:?})[:, 0]", variable.values.len(), &left[..1]);
            [format!("if {name} in evidence:"), format!("    log_evidence = log_evidence + {log}({given})")]
        };
        self.circuit.inputs().filter(|&v| is_closed(v)).flat_map(line).collect()
    }

    /// The target's posterior has all of its values, also those that are impossible.
    fn posterior(&self, is_closed: bool) -> Vec<String> {
        let Some(target) = self.circuit.target else { return vec!["return None, log_evidence".into()] };
        let (values, left) = (self.circuit.variable(target).values.len(), &self.circuit.domains[target.index()]);
        let zeros = match self.language {
            Language::Torch => format!("posterior = output.new_zeros(batch, {values})"),
            Language::Numpy => format!("posterior = np.zeros((batch, {values}), output.dtype)"),
        };
        let possible = match self.language {
            Language::Torch => "(log_evidence > -math.inf)[:, None]",
            Language::Numpy => "(log_evidence > -np.inf)[:, None]",
        };
        let fill = match (left.len() == values, is_closed) {
            (true, false) => vec![format!("posterior = output / total * {possible}")],
            _ => vec![zeros, format!("posterior[:, {left:?}] = output / total * {possible}")],
        };
        fill.into_iter().chain(["return posterior, log_evidence".into()]).collect()
    }
}

fn torch_ending(exponent: &str) -> Vec<String> {
    vec![
        "total = output.sum(-1)".into(),
        format!("log_evidence = torch.log(total){exponent}"),
        "total = torch.where(total > 0, total, 1)[:, None]".into(),
    ]
}

fn numpy_ending(exponent: &str) -> Vec<String> {
    vec![
        "total = output.sum(-1)".into(),
        format!("log_evidence = log(total){exponent}"),
        "total = np.where(total > 0, total, 1)[:, None]".into(),
    ]
}
