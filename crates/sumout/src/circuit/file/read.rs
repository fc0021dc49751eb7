//! Reads a circuit from the content of a file.

use safetensors::tensor::{Dtype, SafeTensors};
use std::collections::HashSet;

use crate::circuit::Circuit;
use crate::circuit::file::{Header, Named, damaged};
use crate::circuit::joint::{self, Joint};
use crate::error::Result;
use crate::model::{LARGEST_WEIGHT, Variable};
use crate::tensor::graph::{Parts, TableId};
use crate::tensor::{AxisId, AxisSet, Graph, List, Map, NodeId, Op, Pick, Table, Weighing};
use crate::vars::VarId;

/// Makes a circuit from the content of a file.
pub(super) struct Reader<'a> {
    pub header: &'a Header,
    pub tensors: &'a SafeTensors<'a>,
}

impl Reader<'_> {
    pub fn circuit(&self) -> Result<Circuit> {
        self.check_variables()?;
        let graph = self.graph()?;
        let completion = self.header.completion.as_ref();
        let completion = completion.map(|c| self.completion(c, &graph)).transpose()?;
        self.check_asked(&graph)?;
        let vars = |indices: &[usize]| indices.iter().map(|&v| VarId::new(v)).collect();
        let aliases = self.header.aliases.iter();
        let variables: Vec<Variable> = self.header.variables.iter().map(variable).collect();
        let asked: Vec<VarId> = self.header.joint.iter().map(|&v| VarId::new(v)).collect();
        let joint = (!asked.is_empty())
            .then(|| Joint::new(&variables, &asked, &self.header.domains).into());
        Ok(Circuit {
            completion: completion.map(Into::into),
            variables: variables.into(),
            single: self.header.target.map(VarId::new),
            several: vars(&self.header.targets),
            joint,
            inputs: vars(&self.header.inputs),
            order: self.header.inputs.iter().copied().map(VarId::new).collect(),
            hard: vars(&self.header.hard),
            domains: self.header.domains.clone().into(),
            graph: graph.into(),
            aliases: aliases
                .map(|&(alias, of)| (VarId::new(alias), VarId::new(of)))
                .collect(),
            visible: self.visible(),
        })
    }

    /// How many of the variables are the network's.
    fn visible(&self) -> usize {
        let variables = self.header.variables.len();
        self.header.visible.unwrap_or(variables).min(variables)
    }

    fn check_variables(&self) -> Result<()> {
        let Header {
            variables,
            target,
            inputs,
            hard,
            domains,
            axes,
            aliases,
            ..
        } = self.header;
        let fits = |(domain, &card): (&Vec<usize>, &usize)| {
            domain.len() == card && card > 0 && domain.is_sorted_by(|a, b| a < b)
        };
        let has_values =
            |(v, domain): (&Named, &Vec<usize>)| domain.iter().all(|&value| value < v.values.len());
        let is_whole = variables.len() == domains.len()
            && axes.len() >= domains.len()
            && domains.iter().zip(axes).all(fits)
            && variables.iter().zip(domains).all(has_values);
        let are_known = |vars: &[usize]| vars.iter().all(|&v| v < self.visible());
        let are_inputs =
            hard.iter().all(|v| inputs.contains(v)) && !target.is_some_and(|t| hard.contains(&t));
        let are_distinct = inputs.iter().collect::<HashSet<_>>().len() == inputs.len();
        if !is_whole
            || !are_inputs
            || !are_distinct
            || !are_known(inputs)
            || !are_known(target.as_slice())
        {
            return Err(damaged("its variables do not fit together"));
        }
        self.check_targets()?;
        if axes.contains(&0) || !aliases.iter().all(|alias| self.is_alias(alias)) {
            return Err(damaged("its axes do not fit its variables"));
        }
        Ok(())
    }

    /// One target, several side by side, or several together.
    fn check_targets(&self) -> Result<()> {
        let Header {
            variables,
            target,
            targets,
            joint,
            hard,
            ..
        } = self.header;
        let kinds = [target.is_some(), !targets.is_empty(), !joint.is_empty()];
        let is_known = |v: &usize| *v < self.visible() && !hard.contains(v);
        let cards: Vec<usize> = variables.iter().map(|v| v.values.len()).collect();
        let are_known = targets.iter().chain(joint).all(is_known);
        let members: Vec<VarId> = joint.iter().map(|&v| VarId::new(v)).collect();
        let is_small = || joint.is_empty() || joint::entries(&cards, &members).is_some();
        if kinds.iter().filter(|is| **is).count() <= 1 && are_known && is_small() {
            Ok(())
        } else {
            Err(damaged("its targets do not fit together"))
        }
    }

    /// Whether a variable that is not the network's can stand for an input, with all of its values.
    fn is_alias(&self, &(alias, of): &(usize, usize)) -> bool {
        let Header {
            variables,
            domains,
            inputs,
            ..
        } = self.header;
        let is_hidden = alias < variables.len() && alias >= self.visible();
        is_hidden
            && of < self.visible()
            && inputs.contains(&of)
            && variables[alias].values == variables[of].values
            && domains[alias].len() == variables[of].values.len()
    }

    fn graph(&self) -> Result<Graph> {
        let (axes, variables) = (self.header.axes.clone(), self.header.variables.len());
        let mut graph = Graph::with_parts(axes, variables, self.parts()?);
        for op in &self.header.operations {
            graph.try_add(op.clone()).map_err(damaged)?;
        }
        let finished = graph.try_set_output(self.header.output);
        finished.map_err(damaged)?;
        self.check_output(&graph)?;
        self.check_rules(&graph)?;
        Ok(graph)
    }

    fn check_output(&self, graph: &Graph) -> Result<()> {
        let is_open = |t: &usize| self.header.domains[*t].len() > 1;
        let output = self.header.target.iter().chain(&self.header.joint);
        let open: AxisSet = output
            .filter(|t| is_open(t))
            .map(|&t| AxisId::new(t))
            .collect();
        if *graph.axes(graph.output()) == open {
            Ok(())
        } else {
            Err(damaged("its output is not over the target"))
        }
    }

    /// Circuits with tests answer with posteriors. A test is of a variable of the network, and its
    /// numbers are not too large to compute with.
    fn check_rules(&self, graph: &Graph) -> Result<()> {
        let is_small = |node: NodeId| {
            let table = graph.op(node).table().map(|t| &graph.tables()[t.index()]);
            table.is_some_and(|t| t.values.iter().all(|x| x.abs() <= LARGEST_WEIGHT))
        };
        let fits = |op: &Op| {
            let Op::Select(inputs, rule) = op else {
                return true;
            };
            let (tables, rule) = (graph.tested(inputs, *rule).1, &graph.rules()[rule.index()]);
            rule.tested.index() < self.visible()
                && (rule.weighing != Weighing::Softmax || is_small(tables[0]))
        };
        let is_answered = graph.rules().is_empty() && graph.picks().is_empty();
        let is_explained = !is_answered && self.header.completion.is_some();
        if is_explained || !graph.ops().all(|(_, op)| fits(op)) {
            return Err(damaged("a test does not fit the circuit"));
        }
        Ok(())
    }

    /// Posteriors of all variables, or of the inputs, are read where their evidence is.
    fn check_asked(&self, graph: &Graph) -> Result<()> {
        let Header {
            target,
            targets,
            joint,
            inputs,
            hard,
            domains,
            completion,
            ..
        } = self.header;
        let is_output = target.is_some() || !joint.is_empty();
        let is_target = |v: &usize| !is_output && (targets.is_empty() || targets.contains(v));
        let is_asked = |v: &usize| is_target(v) || inputs.contains(v);
        let is_open = |v: &usize| domains[*v].len() > 1 && !hard.contains(v);
        let is_read = |v: usize| graph.find(&Op::Evidence(VarId::new(v))).is_some();
        let mut asked = (0..self.visible()).filter(is_asked).filter(is_open);
        if completion.is_some() || asked.all(is_read) {
            Ok(())
        } else {
            Err(damaged("a variable that is asked for is not there"))
        }
    }

    fn parts(&self) -> Result<Parts> {
        let Header {
            tables,
            lists,
            maps,
            picks,
            rules,
            ..
        } = self.header;
        let mut parts = Parts {
            rules: rules.clone(),
            ..Parts::default()
        };
        for (i, axes) in tables.iter().enumerate() {
            let table = self.table(i, axes)?;
            let origin = self.origin(i, &table)?;
            parts
                .origins
                .extend(origin.map(|origin| (TableId::new(i), origin)));
            parts.tables.push(table);
        }
        for (i, axis) in lists.iter().enumerate() {
            parts.lists.push(self.list(i, *axis)?);
        }
        for (i, (from, over)) in maps.iter().enumerate() {
            let (from, over) = (from.clone(), over.clone());
            let index = self.words(&format!("map.{i}"))?;
            parts.maps.push(Map { from, over, index });
        }
        for (i, (axis, counts)) in picks.iter().enumerate() {
            parts.picks.push(self.pick(i, *axis, counts)?);
        }
        Ok(parts)
    }

    fn table(&self, index: usize, axes: &[AxisId]) -> Result<Table> {
        let bytes = self.tensor(&format!("table.{index}"), Dtype::F64)?;
        let numbers = bytes.as_chunks::<8>().0.iter();
        Ok(Table {
            axes: axes.to_vec(),
            values: numbers.map(|&x| f64::from_le_bytes(x)).collect(),
        })
    }

    fn list(&self, index: usize, axis: Option<AxisId>) -> Result<List> {
        let words = self.words(&format!("list.{index}"))?;
        let length = words.len() / 3;
        if words.len() != 3 * length {
            return Err(damaged("a list does not fit its tensors"));
        }
        let column = |column: usize| words[column * length..(column + 1) * length].to_vec();
        Ok(List {
            axis,
            outs: column(0),
            a: column(1),
            b: column(2),
        })
    }

    fn pick(&self, index: usize, axis: AxisId, counts: &[usize]) -> Result<Pick> {
        let words = self.words(&format!("pick.{index}"))?;
        let mut rest = &words[..];
        let mut places = vec![];
        for &count in counts {
            let (these, others) = rest
                .split_at_checked(count)
                .ok_or_else(|| damaged("a pick does not fit its tensors"))?;
            places.push(these.to_vec());
            rest = others;
        }
        Ok(Pick { axis, places })
    }

    pub fn axis(&self, index: usize) -> Result<AxisId> {
        if index < self.header.axes.len() {
            Ok(AxisId::new(index))
        } else {
            Err(damaged("an axis is not there"))
        }
    }

    /// The number of joint states of some axes; none if there are too many to count.
    pub fn size(&self, axes: &[AxisId]) -> Option<usize> {
        axes.iter().try_fold(1usize, |size, v| {
            size.checked_mul(self.header.axes[v.index()])
        })
    }

    pub fn words(&self, name: &str) -> Result<Vec<u32>> {
        let bytes = self.tensor(name, Dtype::U32)?;
        let words = bytes.as_chunks::<4>().0.iter();
        Ok(words.map(|&x| u32::from_le_bytes(x)).collect())
    }

    pub fn tensor(&self, name: &str, dtype: Dtype) -> Result<&[u8]> {
        let tensor = self.tensors.tensor(name);
        let tensor = tensor.map_err(|e| damaged(&e.to_string()))?;
        if tensor.dtype() == dtype {
            Ok(tensor.data())
        } else {
            Err(damaged(&format!("`{name}` has numbers of another kind")))
        }
    }
}

fn variable(named: &Named) -> Variable {
    Variable {
        name: named.name.clone(),
        values: named.values.clone(),
    }
}
