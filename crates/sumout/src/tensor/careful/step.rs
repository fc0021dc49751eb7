//! The steps of a program, by their [`Guide`]s: the result of a step, and, to find where a maximum
//! came from, the products that it compared.

use crate::tensor::careful::trace::Products;
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::combine::Combine;
use crate::tensor::graph::{Graph, Map, NodeId};
use crate::tensor::layout::{Program, Step};
use crate::tensor::schedule::Guide;

impl Run<'_> {
    /// The result of a step, in memory that may have been used before.
    pub(super) fn step<C: Combine>(&self, step: &Step, room: Vec<f64>) -> Tensor {
        match step.planned.guide {
            Guide::Axes => self.sum_products::<C>(step, room, |a, b, out| {
                self.nest::<C>(&step.nest, a, b, out);
            }),
            Guide::List(list, to) => self.sum_products::<C>(step, room, |a, b, out| {
                self.list::<C>(to.roles(&self.graph.lists()[list.index()]), a, b, out);
            }),
            Guide::Gather(map) | Guide::Scatter(map) => {
                let index = &self.graph.maps()[map.index()].index;
                self.sum_products::<C>(step, room, |a, b, out| {
                    self.gather::<C>(step, index, a, b, out);
                })
            }
            Guide::Collect(pick) => self.collect::<C>(&step.planned, pick),
            Guide::Spread(pick, k) => self.spread::<C>(&step.planned, (pick, k)),
            Guide::Select => self.select::<C>(&step.planned),
            Guide::Unselect(k) => self.unselect(&step.planned, k),
        }
    }

    /// Sums of products of one or two tensors, by a kernel that adds to zeros.
    fn sum_products<C: Combine>(
        &self,
        step: &Step,
        mut data: Vec<f64>,
        kernel: impl FnOnce(&[f64], &[f64], &mut [f64]),
    ) -> Tensor {
        let a = self.tensor(step.planned.a);
        let one = [C::one()];
        let (b, b_exponent) = step.planned.b.map_or((&one[..], 0), |b| {
            let b = self.tensor(b);
            (&b.data, b.exponent)
        });
        data.clear();
        data.resize(self.program.sizes[step.planned.out], C::zero());
        kernel(&a.data, b, &mut data);
        Tensor {
            data,
            exponent: a.exponent + b_exponent,
        }
    }
}

/// The products that an entry of a step's output is the largest of.
pub(super) fn products(graph: &Graph, program: &Program, step: &Step) -> Products {
    match step.planned.guide {
        Guide::Axes => Products::Sum(step.nest.summed()),
        Guide::List(id, _) => {
            let list = &graph.lists()[id.index()];
            let before = |o: usize| list.outs.partition_point(|&out| (out as usize) < o) as u32;
            let starts = (0..=program.sizes[step.planned.out]).map(before).collect();
            let out = NodeId::new(step.planned.out);
            Products::List(id, program.strides(out).collect(), starts)
        }
        Guide::Gather(map) | Guide::Scatter(map) => {
            let Map { over, index, .. } = &graph.maps()[map.index()];
            let cards = over.iter().map(|&v| (v, graph.cards()[v.index()]));
            let from = index.iter().map(|&value| step.walk.from(value));
            Products::Map(cards.collect(), from.collect())
        }
        Guide::Collect(_) | Guide::Spread(..) => {
            unreachable!("what is explained is not compiled from logic")
        }
        Guide::Select | Guide::Unselect(_) => unreachable!("what is explained has no tests"),
    }
}
