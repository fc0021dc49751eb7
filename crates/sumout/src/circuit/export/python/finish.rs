//! The last lines of a program: they make answers of its output.

use crate::circuit::export::python::names::quoted;
use crate::circuit::export::python::{Library, Writer};

impl Writer<'_> {
    /// The lines that make answers of the output.
    pub(crate) fn finish(&mut self) {
        let output = &self.program.output;
        let (name, is_closed) = (output.name(), output.axes.is_empty());
        let mut lines = vec![format!(
            "output = {name}{}",
            if is_closed { "[..., None]" } else { "" }
        )];
        if !output.varies {
            lines.push(match self.library {
                Library::Torch => "output = output.expand(batch, -1)".into(),
                Library::Numpy => {
                    "output = np.broadcast_to(output, (batch, output.shape[-1]))".into()
                }
                Library::Jax => {
                    "output = jnp.broadcast_to(output, (batch, output.shape[-1]))".into()
                }
            });
        }
        let exponent = output
            .exponent()
            .map_or(String::new(), |e| format!(" + {e} * 0.6931471805599453"));
        lines.push("total = output.sum(-1)".into());
        lines.push(format!("log_evidence = log(total){exponent}"));
        lines.push(format!(
            "total = {}.where(total > 0, total, 1)[:, None]",
            self.module()
        ));
        lines.extend(self.weigh_closed());
        lines.extend(self.posterior(is_closed));
        self.forward
            .extend(lines.into_iter().map(|line| format!("        {line}")));
    }

    /// The name of the library in the program.
    fn module(&self) -> &'static str {
        match self.library {
            Library::Torch => "torch",
            Library::Numpy => "np",
            Library::Jax => "jnp",
        }
    }

    /// Evidence on a variable of which one value is left is not a tensor, but multiplies into P(e).
    fn weigh_closed(&self) -> Vec<String> {
        let circuit = self.program.circuit;
        let line = |v| {
            let (variable, left) = (circuit.variable(v), &circuit.domains[v.index()]);
            let name = quoted(&variable.name);
            let given = format!(
                "given({name}, {}, {:?})[:, 0]",
                variable.values.len(),
                &left[..1]
            );
            [
                format!("if {name} in evidence:"),
                format!("    log_evidence = log_evidence + log({given})"),
            ]
        };
        self.program.closed().flat_map(line).collect()
    }

    /// The target's posterior has all of its values, also those that are impossible.
    fn posterior(&self, is_closed: bool) -> Vec<String> {
        let circuit = self.program.circuit;
        let Some(target) = circuit.target() else {
            return vec!["return None, log_evidence".into()];
        };
        let (values, left) = (
            circuit.variable(target).values.len(),
            circuit.possible(target),
        );
        let answer = "output / total * (log_evidence > -math.inf)[:, None]";
        let fill = match (left.len() == values, is_closed, self.library) {
            (true, false, _) => vec![format!("posterior = {answer}")],
            (_, _, Library::Torch) => vec![
                format!("posterior = output.new_zeros(batch, {values})"),
                format!("posterior[:, {left:?}] = {answer}"),
            ],
            (_, _, Library::Numpy) => vec![
                format!("posterior = np.zeros((batch, {values}), output.dtype)"),
                format!("posterior[:, {left:?}] = {answer}"),
            ],
            (_, _, Library::Jax) => vec![
                format!("posterior = jnp.zeros((batch, {values}), output.dtype)"),
                format!("posterior = posterior.at[:, jnp.array({left:?})].set({answer})"),
            ],
        };
        fill.into_iter()
            .chain(["return posterior, log_evidence".into()])
            .collect()
    }
}
