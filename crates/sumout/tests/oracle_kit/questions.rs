//! Posteriors, explanations and family marginals, at all levels, compared with brute force.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Level, Network, Objective, Options, Precision,
    Query, VarId,
};

use crate::model::{Known, Model, evidence, id, name};
use crate::truth::Truth;

/// The mistake that was found, or the number of checks.
pub type Checked = Result<usize, String>;

pub const LEVELS: [Level; 7] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
    Level::Compiled,
    Level::Auto,
];

const OBJECTIVES: [Objective; 4] = [
    Objective::Time,
    Objective::Entries,
    Objective::MultiplyAdds,
    Objective::LargestCluster,
];

/// A network with the evidence of some rows.
pub struct Case {
    pub model: Model,
    pub net: Network,
    pub rows: Vec<Known>,
    truths: Vec<Truth>,
    /// The network's variable for each of the model's.
    ids: Vec<VarId>,
}

impl Case {
    pub fn random(rng: &mut ChaCha8Rng) -> Self {
        let model = Model::random(rng);
        let net = model.build();
        let rows = [1, 1, 5, 19][rng.random_range(0..4)];
        let rows: Vec<Known> = (0..rows).map(|_| model.known(rng)).collect();
        Case {
            truths: rows.iter().map(|known| Truth::new(&model, known)).collect(),
            ids: (0..model.cards.len()).map(|v| id(&net, v)).collect(),
            model,
            net,
            rows,
        }
    }

    /// Asks everything, at one level.
    pub fn check(&self, rng: &mut ChaCha8Rng) -> Checked {
        let options = Options::default()
            .with_level(LEVELS[rng.random_range(0..LEVELS.len())])
            .with_objective(OBJECTIVES[rng.random_range(0..4)])
            .with_effort([0.0, 0.01, 0.3][rng.random_range(0..3)])
            .with_seed(rng.random_range(0..3));
        let asked = |what: &str, found: Checked| {
            let (level, objective) = (options.level(), options.objective());
            found.map_err(|wrong| format!("{what}, {level}, {objective:?}: {wrong}"))
        };
        let mut count = asked("query", self.queries(&options, rng))?;
        count += asked("mpe", self.explanations(&options))?;
        if self.is_hopeless() {
            return Ok(count); // nothing is possible, and nothing is compiled
        }
        count += asked("posteriors of a circuit", self.posteriors(&options, rng))?;
        count += asked("explanations of a circuit", self.explained(&options, rng))?;
        if !self.model.is_markov {
            count += asked("families", self.families(&options, rng))?;
        }
        Ok(count)
    }

    /// Whether no joint state of the network has a positive product.
    fn is_hopeless(&self) -> bool {
        let unknown = vec![None; self.ids.len()];
        Truth::new(&self.model, &unknown).is_impossible()
    }

    /// One variable, some, and all, each compiled for the evidence.
    fn queries(&self, options: &Options, rng: &mut ChaCha8Rng) -> Checked {
        let some: Vec<usize> = (0..self.ids.len())
            .filter(|_| rng.random_bool(0.4))
            .collect();
        let one = vec![rng.random_range(0..self.ids.len())];
        let mut count = 0;
        for asked in [one, some, vec![]] {
            let targets: Vec<VarId> = asked.iter().map(|&v| self.ids[v]).collect();
            let evidence = evidence(&self.net, &self.rows[0]);
            let answer = self.net.query(&targets, &evidence, options).map_err(text)?;
            let log = answer.log_evidence();
            count += self.is_log(0, log, 1e-9)?;
            if self.truths[0].is_impossible() != answer.is_impossible() {
                return Err("impossible, or not".to_owned());
            }
            for (v, posterior) in answer.posteriors() {
                let own = self.ids.iter().position(|id| id == v).unwrap();
                count += near(posterior, &self.truths[0].posterior(own), 1e-9)?;
            }
        }
        Ok(count)
    }

    fn explanations(&self, options: &Options) -> Checked {
        let evidence = evidence(&self.net, &self.rows[0]);
        let found = self.net.mpe(&evidence, options).map_err(text)?;
        let values = found.assignment().map(|values| values.to_vec());
        self.is_best(0, values, found.log_probability())
    }

    /// Whether an assignment is one of the most probable.
    fn is_best(&self, row: usize, values: Option<Vec<usize>>, log: f64) -> Checked {
        let best = self.truths[row].best;
        let Some(values) = values else {
            return match best.is_zero() {
                true => Ok(1),
                false => Err(format!("row {row}: possible, with ln {}", best.ln())),
            };
        };
        let states: Vec<usize> = self.ids.iter().map(|v| values[v.index()]).collect();
        let own = self.model.weight(&self.rows[row], &states);
        if own.is_zero() || !is_near(own.ln(), best.ln(), 1e-9) || !is_near(log, own.ln(), 1e-9) {
            let (own, best) = (own.ln(), best.ln());
            return Err(format!(
                "row {row}: {states:?} has ln {own}, not {best} or {log}"
            ));
        }
        Ok(1)
    }

    /// Inputs: all variables, or some; and those that have a value in every row may promise it.
    fn inputs(&self, mut query: Query, rng: &mut ChaCha8Rng) -> Query {
        if rng.random_bool(0.3) {
            return query.given(["*"]);
        }
        for v in 0..self.ids.len() {
            let mut rows = self.rows.iter();
            let is_hard = rows.all(|row| row[v].as_ref().is_some_and(|(_, is_hard)| *is_hard));
            let is_known = self.rows.iter().any(|row| row[v].is_some());
            if is_hard && rng.random_bool(0.5) {
                query = query.hard([name(v)]);
            } else if is_known || rng.random_bool(0.3) {
                query = query.given([name(v)]);
            }
        }
        query
    }

    fn posteriors(&self, options: &Options, rng: &mut ChaCha8Rng) -> Checked {
        let open = |v: &usize| self.rows.iter().all(|row| row[*v].is_none());
        let target = (0..self.ids.len())
            .find(open)
            .filter(|_| rng.random_bool(0.5));
        let query = target.map_or_else(Query::all, |v| Query::of(name(v)));
        let mut query = self.inputs(query, rng);
        if let Some(target) = target {
            let known = (0..self.ids.len()).filter(|&v| v != target).map(name);
            query = Query::of(name(target)).given(known);
        }
        let circuit = self.net.compile(&query, options).map_err(text)?;
        let circuits = [reloaded(&circuit)?, circuit];
        let mut count = 0;
        for precision in [Precision::F64, Precision::F32] {
            let tolerance = tolerance(precision);
            for of_inputs in [false, true] {
                let found = circuits.each_ref().map(|circuit| {
                    let running = running(precision, rng).with_of_inputs(of_inputs);
                    circuit.evaluator(&running)?.run(&self.batch(circuit))
                });
                let [loaded, found] = found.map(|found| found.map_err(text));
                let (loaded, found) = (loaded?, found?);
                if bits(&loaded.posteriors) != bits(&found.posteriors) {
                    return Err("a circuit from a file answers otherwise".to_owned());
                }
                for row in 0..self.rows.len() {
                    count += self.is_log(row, found.log_evidence[row], tolerance)?;
                    let mut rest = found.row(row);
                    for (v, card) in &found.targets {
                        let (posterior, others) = rest.split_at(*card);
                        rest = others;
                        let own = self.ids.iter().position(|id| id == v).unwrap();
                        count += self.is_posterior(row, own, posterior, tolerance)?;
                    }
                }
            }
        }
        Ok(count)
    }

    fn is_posterior(&self, row: usize, v: usize, found: &[f64], tolerance: f64) -> Checked {
        let truth = &self.truths[row];
        let expected = match truth.is_impossible() {
            true => vec![0.0; found.len()],
            false => truth.posterior(v),
        };
        near(found, &expected, tolerance).map_err(|wrong| format!("row {row}, x{v}: {wrong}"))
    }

    fn explained(&self, options: &Options, rng: &mut ChaCha8Rng) -> Checked {
        let query = self.inputs(Query::explain(), rng);
        let circuit = self.net.compile(&query, options).map_err(text)?;
        let circuit = reloaded(&circuit)?;
        let explainer = circuit
            .explainer(&running(Precision::F64, rng))
            .map_err(text)?;
        let found = explainer.run(&self.batch(&circuit)).map_err(text)?;
        let mut count = 0;
        for row in 0..self.rows.len() {
            let log = found.log_probability[row];
            let mut values: Vec<usize> = vec![0; self.ids.len()];
            for (v, known) in self.rows[row].iter().enumerate() {
                if let Some((likelihood, true)) = known {
                    values[self.ids[v].index()] =
                        likelihood.iter().position(|&l| l == 1.0).unwrap();
                }
            }
            for (v, &value) in found.variables.iter().zip(found.row(row)) {
                values[v.index()] = value.max(0) as usize;
            }
            let values = (!found.is_impossible(row)).then_some(values);
            count += self.is_best(row, values, log)?;
        }
        Ok(count)
    }

    fn families(&self, options: &Options, rng: &mut ChaCha8Rng) -> Checked {
        let query = Query::all().given(["*"]).families();
        let circuit = self.net.compile(&query, options).map_err(text)?;
        let circuit = reloaded(&circuit)?;
        let mut count = 0;
        for precision in [Precision::F64, Precision::F32] {
            let evaluator = circuit.family_evaluator(&running(precision, rng));
            let found = evaluator.and_then(|e| e.run(&self.batch(&circuit)));
            let found = found.map_err(text)?;
            for row in 0..self.rows.len() {
                count += self.is_log(row, found.log_evidence[row], tolerance(precision))?;
                for (index, factor) in self.model.factors.iter().enumerate() {
                    let child = self.ids[factor.scope[factor.scope.len() - 1]];
                    let mut marginals = found.marginals.iter();
                    let Some((_, own)) = marginals.find(|(v, _)| *v == child) else {
                        return Err(format!("no family of {child:?}"));
                    };
                    let size = factor.values.len();
                    let truth = &self.truths[row];
                    let expected = match truth.is_impossible() {
                        true => vec![0.0; size],
                        false => truth.family(index),
                    };
                    count += near(&own[row * size..][..size], &expected, tolerance(precision))
                        .map_err(|wrong| format!("row {row}, family of {child:?}: {wrong}"))?;
                }
            }
        }
        Ok(count)
    }

    fn is_log(&self, row: usize, found: f64, tolerance: f64) -> Checked {
        let expected = match self.truths[row].is_impossible() {
            true => f64::NEG_INFINITY,
            false => self.truths[row].evidence.ln(),
        };
        match is_near(found, expected, tolerance) {
            true => Ok(1),
            false => Err(format!("row {row}: ln P(e) is {found}, not {expected}")),
        }
    }

    /// The rows, as values where all that is known of an input are values.
    fn batch(&self, circuit: &Circuit) -> Batch {
        let mut batch = Batch::new(self.rows.len());
        for input in circuit.inputs() {
            let v = self.ids.iter().position(|id| *id == input).unwrap();
            let card = self.model.cards[v];
            let known = self.rows.iter().map(|row| &row[v]);
            let are_values = known
                .clone()
                .all(|k| k.as_ref().is_none_or(|(_, is_hard)| *is_hard));
            let column = match are_values {
                true => Column::Values(known.map(|k| k.as_ref().map_or(-1, value)).collect()),
                false => Column::Likelihoods(
                    known
                        .flat_map(|k| k.as_ref().map_or(vec![1.0; card], |(l, _)| l.clone()))
                        .collect(),
                ),
            };
            batch.insert(circuit, input, column).unwrap();
        }
        batch
    }

    /// The evidence of the first row, for messages.
    pub fn evidence(&self) -> Evidence {
        evidence(&self.net, &self.rows[0])
    }
}

fn value((likelihood, _): &(Vec<f64>, bool)) -> i32 {
    likelihood.iter().position(|&l| l == 1.0).unwrap() as i32
}

fn running(precision: Precision, rng: &mut ChaCha8Rng) -> EvalOptions {
    let options = EvalOptions::default().with_precision(precision);
    options.with_threads(rng.random_range(1..=2))
}

fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F64 => 1e-9,
        _ => 1e-5,
    }
}

fn reloaded(circuit: &Circuit) -> Result<Circuit, String> {
    let bytes = circuit.to_bytes().map_err(text)?;
    Circuit::from_bytes(&bytes).map_err(text)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

fn text(error: sumout::Error) -> String {
    error.to_string()
}

fn is_near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * b.abs().max(1.0)
}

fn near(found: &[f64], expected: &[f64], tolerance: f64) -> Checked {
    let mut pairs = found.iter().zip(expected);
    match found.len() == expected.len() && pairs.all(|(&a, &b)| is_near(a, b, tolerance)) {
        true => Ok(1),
        false => Err(format!("{found:?}, not {expected:?}")),
    }
}
