//! Options of ONNX models.

use crate::circuit::Precision;

/// The precision and the inputs of an ONNX model: 32 bits and positions of values by default.
///
/// ```
/// use sumout::{Network, Onnx, Options, Precision, Query};
///
/// let asia = Network::read("asia")?;
/// let circuit = asia.compile(&Query::of("lung").given(["xray"]), &Options::default())?;
/// let options = Onnx::default().with_precision(Precision::F64).with_likelihoods(true);
/// assert!(!circuit.export_onnx(&options)?.program().is_empty());
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onnx {
    pub(super) precision: Precision,
    pub(super) likelihoods: bool,
}

impl Default for Onnx {
    fn default() -> Self {
        Onnx {
            precision: Precision::F32,
            likelihoods: false,
        }
    }
}

impl Onnx {
    /// With the precision of its numbers.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Onnx { precision, ..self }
    }

    /// With a column in `evidence` for each value of each input, with likelihoods. Otherwise there
    /// is a column for each input, with the positions of values, -1 where nothing is known.
    #[must_use]
    pub fn with_likelihoods(self, likelihoods: bool) -> Self {
        Onnx {
            likelihoods,
            ..self
        }
    }
}
