//! The selections of tests.

use crate::circuit::export::onnx::Writer;
use crate::circuit::export::onnx::proto::Attribute;
use crate::circuit::export::program::{Step, Value};
use crate::tensor::select::{ROUNDING, Selector};
use crate::tensor::{NodeId, RuleId, Weighing};

/// Numbers of 32 bits that are not further apart are equal.
const ROUNDING_F32: f64 = 1e-6;

impl Writer<'_> {
    /// The weights of copies, one after the other for each row of the CPT. The numbers of tables
    /// are constants.
    pub(crate) fn select(&mut self, step: &Step, of: &[String], rule: RuleId) -> String {
        let selector = Selector::of(self.program.graph, NodeId::new(step.to.number()));
        let tested = step.of.len() - selector.tables.len();
        let shares: Vec<String> = (0..tested)
            .map(|k| self.share(&step.of[k], &of[k], step.to.varies))
            .collect();
        let size =
            self.program.graph.cards()[self.program.graph.rules()[rule.index()].axis.index()];
        let weights = match selector.weighing {
            Weighing::Step { larger, equal } => self.step_of(&shares[0], &selector, larger, equal),
            Weighing::Sigmoid => self.sigmoid_of(&shares[0], &selector),
            Weighing::Linear => self.linear_of(&shares[0]),
            Weighing::Softmax => self.softmax_of(&shares, &selector, size),
        };
        self.reshape(
            &weights,
            &[size as i64, -1][..1 + usize::from(step.to.varies)],
        )
    }

    /// Numbers divided by their sum, equal ones if that is zero; with an axis for the batch if any
    /// has one.
    fn share(&mut self, tensor: &Value, name: &str, varies: bool) -> String {
        let mut x = name.to_owned();
        if !tensor.varies {
            x = self.build.unsqueeze(&x, 1);
        }
        if varies && !tensor.varies {
            x = self.across(&x);
        }
        let size: usize = self.program.shape(&tensor.axes).iter().product();
        let axes = self.build.axes(&[0]);
        let total = self.build.add(
            "ReduceSum",
            &[&x, &axes],
            &[("keepdims", Attribute::Int(1))],
        );
        let (zero, one, equal) = (
            self.build.real(0.0),
            self.build.real(1.0),
            self.build.real(1.0 / size as f64),
        );
        let is_possible = self.build.add("Greater", &[&total, &zero], &[]);
        let divisor = self.build.add("Where", &[&is_possible, &total, &one], &[]);
        let share = self.build.add("Div", &[&x, &divisor], &[]);
        self.build
            .add("Where", &[&is_possible, &share, &equal], &[])
    }

    /// How far p is above each threshold: rows, thresholds, batch.
    fn above(&mut self, p: &str, selector: &Selector) -> String {
        let gaps = selector.tables[0].chunks_exact(selector.copies);
        let rows = gaps.len();
        let thresholds: Vec<f64> = gaps.flat_map(|row| sums(&row[..row.len() - 1])).collect();
        let thresholds = self
            .build
            .table(&[rows, selector.copies - 1, 1], &thresholds);
        let p = self.build.unsqueeze(p, 1);
        self.build.add("Sub", &[&p, &thresholds], &[])
    }

    fn step_of(&mut self, p: &str, selector: &Selector, larger: bool, equal: bool) -> String {
        let above = self.above(p, selector);
        let zero = self.build.real(0.0);
        let passes = self.build.add(
            if larger { "Greater" } else { "Less" },
            &[&above, &zero],
            &[],
        );
        let distance = self.build.add("Abs", &[&above], &[]);
        let rounding = if self.build.real == super::Type::F32 {
            ROUNDING_F32
        } else {
            ROUNDING
        };
        let rounding = self.build.real(rounding);
        let is_far = self.build.add("Greater", &[&distance, &rounding], &[]);
        let passes = if equal {
            let is_near = self.build.add("Not", &[&is_far], &[]);
            self.build.add("Or", &[&passes, &is_near], &[])
        } else {
            self.build.add("And", &[&passes, &is_far], &[])
        };
        let passes = self.cast(&passes);
        let passed = self.build.sum(&passes, &[1]);
        let passed = self.build.unsqueeze(&passed, 1);
        let copies: Vec<f64> = (0..selector.copies).map(|k| k as f64).collect();
        let copies = self.build.table(&[1, selector.copies, 1], &copies);
        let is_selected = self.build.add("Equal", &[&passed, &copies], &[]);
        self.cast(&is_selected)
    }

    /// s(x) - s(y) = s(x) · s(-y) · (1 - exp(y - x)), where the last factor depends on the gap
    /// alone.
    fn sigmoid_of(&mut self, p: &str, selector: &Selector) -> String {
        let (copies, slope) = (selector.copies, selector.slope);
        let above = self.above(p, selector);
        let steep = self.build.real(slope);
        let x = self.build.add("Mul", &[&above, &steep], &[]);
        let (yes, no) = self.sigmoids(&x);
        let (yes, no) = (
            self.padded(&yes, [0, 1, 0, 0, 0, 0]),
            self.padded(&no, [0, 0, 0, 0, 1, 0]),
        );
        let both = self.build.add("Mul", &[&yes, &no], &[]);
        let factor = |(at, gap): (usize, &f64)| match at % copies {
            0 => 1.0,
            k if k + 1 == copies => 1.0,
            _ => -(-slope * gap).exp_m1(),
        };
        let factors: Vec<f64> = selector.tables[0].iter().enumerate().map(factor).collect();
        let factors = self
            .build
            .table(&[factors.len() / copies, copies, 1], &factors);
        self.build.add("Mul", &[&both, &factors], &[])
    }

    /// s(x) and s(-x), which runtimes do not compute far from zero.
    fn sigmoids(&mut self, x: &str) -> (String, String) {
        let (zero, one) = (self.build.real(0.0), self.build.real(1.0));
        let size = self.build.add("Abs", &[x], &[]);
        let back = self.build.add("Neg", &[&size], &[]);
        let small = self.build.add("Exp", &[&back], &[]);
        let sum = self.build.add("Add", &[&one, &small], &[]);
        let (near, far) = (
            self.build.add("Div", &[&one, &sum], &[]),
            self.build.add("Div", &[&small, &sum], &[]),
        );
        let is_negative = self.build.add("Less", &[x, &zero], &[]);
        let yes = self.build.add("Where", &[&is_negative, &far, &near], &[]);
        (
            yes,
            self.build.add("Where", &[&is_negative, &near, &far], &[]),
        )
    }

    fn padded(&mut self, x: &str, pads: [i64; 6]) -> String {
        let (pads, one) = (self.build.longs(&[6], &pads), self.build.real(1.0));
        self.build.add("Pad", &[x, &pads, &one], &[])
    }

    fn linear_of(&mut self, p: &str) -> String {
        let axis = self.build.longs(&[], &[0]);
        let exclusive = || ("exclusive", Attribute::Int(1));
        let before = self.build.add("CumSum", &[p, &axis], &[exclusive()]);
        let behind = self.build.add(
            "CumSum",
            &[p, &axis],
            &[exclusive(), ("reverse", Attribute::Int(1))],
        );
        let rest = self.build.add("Add", &[&before, &behind], &[]);
        let (rest, p) = (self.build.unsqueeze(&rest, 1), self.build.unsqueeze(p, 1));
        self.build
            .add("Concat", &[&rest, &p], &[("axis", Attribute::Int(1))])
    }

    fn softmax_of(&mut self, shares: &[String], selector: &Selector, size: usize) -> String {
        let names: Vec<&str> = shares.iter().map(String::as_str).collect();
        let e = self
            .build
            .add("Concat", &names, &[("axis", Attribute::Int(0))]);
        let seen: usize = selector.parts.iter().sum();
        let logits = selector.tables[0].len() / (seen + 1);
        let (weights, biases) = selector.tables[0].split_at(logits * seen);
        let (weights, biases) = (
            self.build.table(&[logits, seen], weights),
            self.build.table(&[logits, 1], biases),
        );
        let product = self.build.add("MatMul", &[&weights, &e], &[]);
        let sum = self.build.add("Add", &[&product, &biases], &[]);
        let rows = self.reshape(
            &sum,
            &[
                (logits / selector.copies) as i64,
                selector.copies as i64,
                -1,
            ],
        );
        let softmax = self
            .build
            .add("Softmax", &[&rows], &[("axis", Attribute::Int(1))]);
        // One that is the same for all rows is there for each of them.
        let places = vec![0; if logits == size { 0 } else { size / logits }];
        if places.is_empty() {
            softmax
        } else {
            self.build.gather(&softmax, true, &[places.len()], &places)
        }
    }

    fn reshape(&mut self, x: &str, shape: &[i64]) -> String {
        let shape = self.build.axes(shape);
        self.build.add("Reshape", &[x, &shape], &[])
    }
}

/// The sums of the first numbers, of the first two, and so on.
fn sums(numbers: &[f64]) -> impl Iterator<Item = f64> + '_ {
    numbers.iter().scan(0.0, |sum, x| {
        *sum += x;
        Some(*sum)
    })
}
