//! In the files of circuits for explanations: how the variables that a run leaves open are decided.

use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

use crate::circuit::file::damaged;
use crate::circuit::file::numbers::{Numbers, words};
use crate::circuit::file::read::Reader;
use crate::compile::support::Decoder;
use crate::compile::{Completion, Function};
use crate::error::Result;
use crate::tensor::{AxisId, Graph, Map};
use crate::vars::VarId;

/// Everything but the numbers.
#[derive(Serialize, Deserialize)]
pub(super) struct Completing {
    /// The axis of each decoder, and its variables, whose states are the tensor `decoder.N`.
    decoders: Vec<(usize, Vec<usize>)>,
    /// The arguments of each function, and what it decides, with the tensor `function.N`.
    functions: Vec<(Vec<usize>, usize)>,
}

impl Completing {
    pub fn new(completion: &Completion) -> Self {
        let indices = |vars: &[VarId]| vars.iter().map(|v| v.index()).collect::<Vec<_>>();
        Completing {
            decoders: completion
                .decoders
                .iter()
                .map(|d| (d.axis.index(), indices(&d.vars)))
                .collect(),
            functions: completion
                .functions
                .iter()
                .map(|f| (indices(&f.inputs), f.output.index()))
                .collect(),
        }
    }
}

pub(super) fn numbers(completion: &Completion) -> Vec<Numbers> {
    let decoders = completion
        .decoders
        .iter()
        .enumerate()
        .map(|(i, decoder)| Numbers {
            name: format!("decoder.{i}"),
            dtype: Dtype::U16,
            shape: vec![decoder.states.len()],
            bytes: decoder
                .states
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect(),
        });
    let functions = completion
        .functions
        .iter()
        .enumerate()
        .map(|(i, function)| Numbers {
            name: format!("function.{i}"),
            dtype: Dtype::U32,
            shape: vec![function.values.len()],
            bytes: words(
                &function
                    .values
                    .iter()
                    .map(|value| value.unwrap_or(Map::NOWHERE))
                    .collect::<Vec<_>>(),
            ),
        });
    decoders.chain(functions).collect()
}

impl Reader<'_> {
    /// How explanations are completed. Every variable must be decided.
    pub(super) fn completion(&self, completing: &Completing, graph: &Graph) -> Result<Completion> {
        let decoders = completing.decoders.iter().enumerate();
        let functions = completing.functions.iter().enumerate();
        let completion = Completion {
            decoders: decoders
                .map(|(i, (axis, vars))| self.decoder(i, *axis, vars))
                .collect::<Result<_>>()?,
            functions: functions
                .map(|(i, (inputs, output))| self.function(i, inputs, *output))
                .collect::<Result<_>>()?,
        };
        let decided = completion.decided(graph);
        let mut domains = self.header.domains.iter().zip(decided);
        if domains.all(|(domain, is_decided)| is_decided || domain.len() == 1) {
            Ok(completion)
        } else {
            Err(damaged("a variable is never decided"))
        }
    }

    fn decoder(&self, index: usize, axis: usize, vars: &[usize]) -> Result<Decoder> {
        let (axis, vars) = (self.axis(axis)?, self.variables(vars)?);
        let bytes = self.tensor(&format!("decoder.{index}"), Dtype::U16)?;
        let states: Vec<u16> = bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|&x| u16::from_le_bytes(x))
            .collect();
        let is_whole = self
            .size(&[axis])
            .and_then(|size| size.checked_mul(vars.len()))
            == Some(states.len());
        let is_state =
            |(v, &state): (&VarId, &u16)| usize::from(state) < self.header.domains[v.index()].len();
        if is_whole && vars.iter().cycle().zip(&states).all(is_state) {
            Ok(Decoder { axis, vars, states })
        } else {
            Err(damaged("a decoder does not fit its axis"))
        }
    }

    fn function(&self, index: usize, inputs: &[usize], output: usize) -> Result<Function> {
        let axes: Vec<AxisId> = inputs
            .iter()
            .map(|&v| self.axis(v))
            .collect::<Result<_>>()?;
        let (inputs, outputs) = (self.variables(inputs)?, self.variables(&[output])?);
        let card = self.header.domains[output].len();
        let values = self.words(&format!("function.{index}"))?;
        let is_state = |&value: &u32| value == Map::NOWHERE || (value as usize) < card;
        if self.size(&axes) != Some(values.len()) || !values.iter().all(is_state) {
            return Err(damaged("a function does not fit its arguments"));
        }
        let values = values
            .into_iter()
            .map(|value| (value != Map::NOWHERE).then_some(value))
            .collect();
        Ok(Function {
            inputs,
            output: outputs[0],
            values,
        })
    }

    fn variables(&self, indices: &[usize]) -> Result<Vec<VarId>> {
        if indices.iter().all(|&v| v < self.header.variables.len()) {
            Ok(indices.iter().map(|&v| VarId::new(v)).collect())
        } else {
            Err(damaged("a variable is not there"))
        }
    }
}
