//! Graphs that become parts of another one.

use std::collections::HashMap;

use crate::tensor::graph::{AxisId, Graph, List, Map, NodeId, Op, Origin, Pick, Table};
use crate::vars::VarId;

/// Tables that are there already, by their axes, their numbers and where these come from: those of
/// all parts are shared.
pub(crate) type Tables = HashMap<(Vec<AxisId>, Vec<u64>, Option<Origin>), NodeId>;

impl Graph {
    /// Adds all of another graph, and returns the node of its output. `axes` gives what its
    /// axes are here, and `input` which node the likelihood of a variable is.
    pub(crate) fn append(
        &mut self,
        part: &Graph,
        axes: &[AxisId],
        tables: &mut Tables,
        mut input: impl FnMut(&mut Graph, VarId) -> NodeId,
    ) -> NodeId {
        let axis = |v: &AxisId| axes[v.index()];
        let all = |part: &[AxisId]| part.iter().map(axis).collect::<Vec<AxisId>>();
        let mut nodes: Vec<NodeId> = vec![];
        for (_, op) in part.ops() {
            let node = |n: &NodeId| nodes[n.index()];
            let added = match op {
                Op::Evidence(v) => input(self, *v),
                Op::Table(t) => {
                    let Table { axes, values } = &part.tables()[t.index()];
                    let table = Table {
                        axes: all(axes),
                        values: values.clone(),
                    };
                    self.share(table, part.origins().get(t).cloned(), tables)
                }
                Op::Contract(a, b, keep) => self.add(Op::Contract(
                    node(a),
                    node(b),
                    keep.iter().map(|v| axis(&v)).collect(),
                )),
                Op::Project(a, keep) => self.add(Op::Project(
                    node(a),
                    keep.iter().map(|v| axis(&v)).collect(),
                )),
                Op::Join(a, b, list) => {
                    let list = &part.lists()[list.index()];
                    let list = List {
                        axis: list.axis.as_ref().map(axis),
                        ..list.clone()
                    };
                    self.join(node(a), node(b), list)
                }
                Op::Gather(a, map) => {
                    let Map { from, over, index } = &part.maps()[map.index()];
                    self.gather(
                        node(a),
                        Map {
                            from: all(from),
                            over: all(over),
                            index: index.clone(),
                        },
                    )
                }
                Op::Collect(inputs, pick) => {
                    let pick = &part.picks()[pick.index()];
                    let pick = Pick {
                        axis: axis(&pick.axis),
                        ..pick.clone()
                    };
                    self.collect(inputs.iter().map(node).collect(), pick)
                }
                Op::Rescale(a) => self.add(Op::Rescale(node(a))),
                Op::Select(..) => unreachable!("parts have no tests of their own"),
            };
            nodes.push(added);
        }
        nodes[part.output().index()]
    }

    fn share(&mut self, table: Table, origin: Option<Origin>, tables: &mut Tables) -> NodeId {
        let bits = table.values.iter().map(|x| x.to_bits()).collect();
        let key = (table.axes.clone(), bits, origin.clone());
        *tables
            .entry(key)
            .or_insert_with(|| self.table_from(table, origin))
    }
}
