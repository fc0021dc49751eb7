//! Puts the parts of a circuit together.
//!
//! In every part, a variable has the same values left: which values are possible depends on
//! ancestors alone, and a part has all ancestors of its variables, or the posterior of a selection
//! that stands for them. So the axes of all parts are the same. Two things need other axes. A test
//! is of all joint states of the parents, also those that are impossible; and where it is of
//! evidence, all values of the variable count, also those that are impossible: the evidence on it
//! is then also that on an *alias*, which can have all values.

use std::collections::{BTreeMap, BTreeSet};

use crate::circuit::Circuit;
use crate::circuit::run::loaded;
use crate::circuit::selection::{Stage, Stages, weighing};
use crate::model::{Expanded, SelectionNode};
use crate::tensor::graph::Tables;
use crate::tensor::{AxisId, Graph, Map, NodeId, Op, Origin, Rule, Table};
use crate::vars::{VarId, VarSet};

pub(crate) struct Merge<'a> {
    expanded: &'a Expanded,
    circuit: &'a Circuit,
    stages: &'a [Stage],
    trainable: &'a VarSet,
    graph: Graph,
    tables: Tables,
    /// The weights that each stage has selected, by its input; and the posterior that they are of,
    /// by its family.
    known: BTreeMap<VarId, NodeId>,
    domains: Vec<Vec<usize>>,
    /// The variable that each alias stands for.
    aliases: BTreeMap<VarId, VarId>,
}

/// The graph of all parts, the values that its variables have, and what its aliases stand for.
pub(crate) struct Merged {
    pub graph: Graph,
    pub domains: Vec<Vec<usize>>,
    pub aliases: BTreeMap<VarId, VarId>,
}

impl<'a> Merge<'a> {
    /// `circuit` is the part that answers.
    pub fn new(
        expanded: &'a Expanded,
        circuit: &'a Circuit,
        stages: &'a Stages,
        trainable: &'a VarSet,
    ) -> Self {
        let Stages {
            stages, domains, ..
        } = stages;
        let mut domains = domains.clone();
        let mut aliases = BTreeMap::new();
        for v in expanded
            .seen()
            .iter()
            .filter(|v| circuit.inputs.contains(*v))
        {
            let card = expanded.model.card(v);
            if domains[v.index()].len() < card {
                aliases.insert(VarId::new(domains.len()), v);
                domains.push((0..card).collect());
            }
        }
        let graph = Graph::new(domains.iter().map(Vec::len).collect());
        let (tables, known) = (Tables::new(), BTreeMap::new());
        Merge {
            expanded,
            circuit,
            stages,
            trainable,
            graph,
            tables,
            known,
            domains,
            aliases,
        }
    }

    pub fn run(mut self) -> Merged {
        for stage in self.stages {
            let tested = match stage.graph() {
                Some(part) => vec![self.posterior(&stage.node, part)],
                None => stage
                    .node
                    .by_evidence()
                    .unwrap_or_default()
                    .iter()
                    .map(|v| self.evidence(*v))
                    .collect(),
            };
            self.select(&stage.node, tested);
        }
        let output = self.append(&self.circuit.graph);
        let output = self.weigh_closed(output);
        self.graph.set_output(output);
        Merged {
            graph: self.graph,
            domains: self.domains,
            aliases: self.aliases,
        }
    }

    /// The variables whose likelihoods multiply into the answer.
    fn counted(&self) -> BTreeSet<VarId> {
        let mut counted: BTreeSet<VarId> = loaded(&self.circuit.graph).collect();
        for stage in self.stages.iter().rev() {
            if counted.contains(&stage.node.family) {
                counted.extend(stage.graph().into_iter().flat_map(loaded));
            }
        }
        counted
    }

    /// Evidence on a variable of which one value is left counts, also if only what selects reads
    /// it.
    fn weigh_closed(&mut self, mut output: NodeId) -> NodeId {
        let counted = self.counted();
        let is_closed = |v: &VarId| self.domains[v.index()].len() == 1;
        for v in self
            .circuit
            .inputs()
            .filter(is_closed)
            .filter(|v| !counted.contains(v))
        {
            if let Some(evidence) = self.graph.find(&Op::Evidence(v)) {
                let weight = self.graph.gather(
                    evidence,
                    Map {
                        from: vec![v.into()],
                        over: vec![],
                        index: vec![0],
                    },
                );
                let axes = self.graph.axes(output).clone();
                let product = self.graph.add(Op::Contract(output, weight, axes));
                output = self.graph.add(Op::Rescale(product));
            }
        }
        output
    }

    fn append(&mut self, part: &Graph) -> NodeId {
        let Merge {
            graph,
            tables,
            known,
            domains,
            ..
        } = self;
        let variables = self.expanded.model.variables().len();
        let is_same = |axis: AxisId| {
            part.variable(axis)
                .is_none_or(|v| part.cards()[v.index()] == domains[v.index()].len())
        };
        let are_same = part
            .ops()
            .all(|(node, _)| part.axes(node).iter().all(is_same));
        assert!(are_same, "a variable has the same values in all parts");
        let mut axes: Vec<AxisId> = (0..variables).map(AxisId::new).collect();
        axes.extend(
            part.cards()[variables..]
                .iter()
                .map(|&card| graph.axis(card)),
        );
        graph.append(part, &axes, tables, |graph, v| {
            known
                .get(&v)
                .copied()
                .unwrap_or_else(|| graph.add(Op::Evidence(v)))
        })
    }

    /// The posterior that is tested: a number for every joint state of the parents.
    fn posterior(&mut self, node: &SelectionNode, part: &Graph) -> NodeId {
        let family = node.family;
        let mut found = self.append(part);
        if self.graph.axes(found).is_empty() {
            found = self.graph.gather(
                found,
                Map {
                    from: vec![],
                    over: vec![family.into()],
                    index: vec![0],
                },
            );
        }
        self.known.insert(family, found);
        let (rows, domain) = (
            self.expanded.model.card(family),
            &self.domains[family.index()],
        );
        if domain.len() == rows {
            return found;
        }
        let mut index = vec![Map::NOWHERE; rows];
        domain
            .iter()
            .enumerate()
            .for_each(|(place, &value)| index[value] = place as u32);
        let all = self.graph.axis(rows);
        self.graph.gather(
            found,
            Map {
                from: vec![family.into()],
                over: vec![all],
                index,
            },
        )
    }

    /// The likelihood of a variable whose evidence is tested; all its values are equal if none can
    /// be given.
    fn evidence(&mut self, v: VarId) -> NodeId {
        if self.circuit.inputs.contains(v) {
            let alias = self
                .aliases
                .iter()
                .find(|(_, of)| **of == v)
                .map_or(v, |(alias, _)| *alias);
            return self.graph.add(Op::Evidence(alias));
        }
        let card = self.expanded.model.card(v);
        let axis = self.graph.axis(card);
        self.graph.table(Table {
            axes: vec![axis],
            values: vec![1.0; card],
        })
    }

    fn select(&mut self, node: &SelectionNode, tested: Vec<NodeId>) {
        let SelectionNode {
            selector,
            input,
            ref selection,
            ..
        } = *node;
        let rows = self.expanded.model.card(input) / selection.copies;
        let mut inputs = tested;
        if selection.kind.has_thresholds() {
            let gaps = Table {
                axes: vec![input.into()],
                values: selection.gaps(rows),
            };
            inputs.push(self.numbers(node, selector, gaps));
        }
        let free = selection.free();
        if !free.is_empty() {
            let axis = self.graph.axis(free.len());
            inputs.push(self.numbers(
                node,
                input,
                Table {
                    axes: vec![axis],
                    values: free,
                },
            ));
        }
        let rule = Rule {
            tested: node.selected,
            axis: input.into(),
            copies: selection.copies,
            weighing: weighing(&selection.kind),
        };
        let weights = self.graph.select(inputs, rule);
        self.known.insert(input, weights);
    }

    /// A table of a selection, which can be trained if anything of the selection can.
    fn numbers(&mut self, node: &SelectionNode, child: VarId, table: Table) -> NodeId {
        let is_soft = !node.selection.kind.is_hard();
        let is_open = is_soft && !node.is_fixed && self.trainable.contains(node.selected);
        let size = table.values.len();
        let origin = Origin {
            child,
            size,
            entries: (0..size as u32).collect(),
        };
        self.graph.table_from(table, is_open.then_some(origin))
    }
}
