//! Networks, by positions of variables and values.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use sumout::VarId;
use sumout::model::format::{ReadOptions, WriteOptions};
use sumout::model::{Body, Role};

use crate::arguments::{
    Answered, Findings, Mapped, Numbers, Ranked, Roles, add_factor, draw, evidence, format_named,
};
use crate::circuit::Circuit;
use crate::error::Result;
use crate::options::Options;
use crate::query::{Plan, Query};
use crate::questions::{self, Informed, Sensitive};
use crate::work;

/// A Bayesian or a Markov network.
#[pyclass(frozen, module = "sumout._sumout")]
#[derive(Debug)]
pub struct Network(pub Arc<sumout::Network>);

#[pymethods]
impl Network {
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, format: Option<&str>, normalize: bool) -> Result<Self> {
        let options = ReadOptions::default()
            .with_format(format.map(format_named).transpose()?)
            .with_normalize(normalize);
        Ok(Network(Arc::new(work::short(py, || {
            sumout::Network::read_with(&path, &options)
        })?)))
    }

    /// Reads what a file called `name` would have.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        name: &str,
        bytes: &[u8],
        format: Option<&str>,
        normalize: bool,
    ) -> Result<Self> {
        let options = ReadOptions::default()
            .with_format(format.map(format_named).transpose()?)
            .with_normalize(normalize);
        Ok(Network(Arc::new(work::short(py, || {
            sumout::Network::parse(name, bytes, &options)
        })?)))
    }

    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        lossy: bool,
    ) -> Result<()> {
        let options = WriteOptions::default()
            .with_format(format.map(format_named).transpose()?)
            .with_lossy(lossy);
        work::short(py, || self.0.write_with(&path, &options))
    }

    fn to_string(&self, py: Python<'_>, format: &str, lossy: bool) -> Result<String> {
        let options = WriteOptions::default()
            .with_format(format_named(format)?)
            .with_lossy(lossy);
        work::short(py, || self.0.to_text(&options))
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    /// Notes for whoever read the network from a file.
    fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }

    fn is_markov(&self) -> bool {
        self.0.is_markov()
    }

    /// The names and the values of all variables.
    fn variables(&self) -> Vec<(String, Vec<String>)> {
        self.0
            .variables()
            .iter()
            .map(|v| (v.name.clone(), v.values.clone()))
            .collect()
    }

    /// For each factor its scope, whether it is known to be a function, and what else is known:
    /// functional, fixed, keep_zeros, tie.
    fn factors(&self) -> Vec<(Vec<usize>, bool, Roles)> {
        let role = |role: &Role| {
            (
                role.functional,
                role.fixed,
                role.keep_zeros,
                role.tie.clone(),
            )
        };
        let factor = |cpt: &sumout::Cpt| {
            (
                cpt.scope().iter().map(|v| v.index()).collect(),
                cpt.is_functional(),
                role(cpt.role()),
            )
        };
        self.0.cpts().iter().map(factor).collect()
    }

    /// The numbers of a factor, the last of its scope moving fastest.
    fn table<'py>(&self, py: Python<'py>, factor: usize) -> Bound<'py, PyArray1<f64>> {
        self.0.cpts()[factor]
            .table(&self.0.cards())
            .into_pyarray(py)
    }

    fn find(&self, name: &str) -> Result<usize> {
        Ok(self.0.find(name)?.index())
    }

    fn value(&self, variable: usize, name: &str) -> Result<usize> {
        Ok(self.0.value(sumout::internals::var(variable), name)?)
    }

    fn matching(&self, pattern: &str) -> Result<Vec<usize>> {
        let found = self.0.matching(pattern)?;
        Ok(found.iter().map(|v| v.index()).collect())
    }

    /// The same network with other numbers in some CPTs.
    fn with_tables(&self, tables: Vec<(usize, PyReadonlyArrayDyn<'_, f64>)>) -> Result<Self> {
        let tables: Vec<(VarId, Vec<f64>)> = tables
            .iter()
            .map(|(var, table)| {
                (
                    sumout::internals::var(*var),
                    table.as_array().iter().copied().collect(),
                )
            })
            .collect();
        Ok(Network(Arc::new(self.0.with_tables(
            tables.iter().map(|(var, table)| (*var, &table[..])),
        ))))
    }

    /// The network with variables set to values from outside.
    fn intervene(&self, py: Python<'_>, settings: Vec<(String, String)>) -> Result<Self> {
        self.changed(py, |net| net.intervene(settings))
    }

    /// The network with a variable for each of some others that sets it.
    fn with_regimes(&self, py: Python<'_>, names: Vec<String>) -> Result<Self> {
        self.changed(py, |net| net.with_regimes(names))
    }

    /// The network with variables of other worlds.
    fn with_worlds(&self, py: Python<'_>, names: Vec<String>) -> Result<Self> {
        self.changed(py, |net| net.with_worlds(names))
    }

    /// The network with noise for what is random given its parents.
    fn completed(&self, py: Python<'_>) -> Result<Self> {
        self.changed(py, |net| net.completed())
    }

    fn not_structural(&self) -> Vec<usize> {
        self.0.not_structural().map(|v| v.index()).collect()
    }

    /// Necessity, sufficiency, both, the effect on the treated and on all: none where a condition is
    /// impossible.
    fn causation(
        &self,
        py: Python<'_>,
        cause: (String, String),
        instead: Option<String>,
        effect: (String, String),
        findings: Findings,
        options: &Options,
    ) -> Result<Vec<Option<f64>>> {
        let (net, options) = (self.0.clone(), options.0.clone());
        let found = work::long(py, None, move |watch| {
            let (cause, effect) = ((&*cause.0, &*cause.1), (&*effect.0, &*effect.1));
            let (known, options) = (evidence(&net, findings)?, watch.over(&options));
            net.causation(cause, instead.as_deref(), effect, &known, &options)
        })?;
        Ok(vec![
            found.necessity(),
            found.sufficiency(),
            found.necessity_and_sufficiency(),
            found.effect_on_treated(),
            found.effect(),
        ])
    }

    /// The posteriors of some variables, of all if there are none; and ln P(e).
    fn query(
        &self,
        py: Python<'_>,
        targets: Vec<usize>,
        joint: bool,
        findings: Findings,
        options: &Options,
    ) -> Result<Answered> {
        let (net, options) = (self.0.clone(), options.0.clone());
        let answer = work::long(py, None, move |watch| {
            let targets: Vec<VarId> = targets.into_iter().map(sumout::internals::var).collect();
            let (evidence, options) = (evidence(&net, findings)?, watch.over(&options));
            match joint {
                true => net.query_joint(&targets, &evidence, &options),
                false => net.query(&targets, &evidence, &options),
            }
        })?;
        let posteriors = answer.posteriors().iter();
        let posteriors = posteriors.map(|(v, p)| (v.index(), p.clone()));
        Ok((posteriors.collect(), answer.log_evidence()))
    }

    /// The most probable values of all variables, none if the evidence is impossible; and ln P of
    /// them.
    fn mpe(
        &self,
        py: Python<'_>,
        findings: Findings,
        options: &Options,
    ) -> Result<(Option<Vec<usize>>, f64)> {
        let (net, options) = (self.0.clone(), options.0.clone());
        let found = work::long(py, None, move |watch| {
            net.mpe(&evidence(&net, findings)?, &watch.over(&options))
        })?;
        let assignment = found.assignment().map(<[usize]>::to_vec);
        Ok((assignment, found.log_probability()))
    }

    /// The most probable values of all variables in order, at most `count` times; each with ln P of
    /// them, their probability given the evidence, their place, and whether others as probable were left out.
    fn explanations(
        &self,
        py: Python<'_>,
        count: usize,
        findings: Findings,
        options: &Options,
    ) -> Result<Vec<Ranked>> {
        let (net, options) = (self.0.clone(), options.0.clone());
        let found = work::long(py, None, move |watch| {
            net.explanations(count, &evidence(&net, findings)?, &watch.over(&options))
        })?;
        let ranked = |best: sumout::Explanation| {
            Some((
                best.assignment()?.to_vec(),
                best.log_probability(),
                best.posterior()?,
                best.rank()?,
                best.is_tied_beyond(),
            ))
        };
        Ok(found.into_iter().filter_map(ranked).collect())
    }

    /// The most probable values of some variables, the others summed out: assignments with ln P of them and the
    /// evidence; the upper bound, whether it is proved, the nodes of the search, and ln P(e).
    ///
    /// The search ends after some seconds, if they are given.
    #[pyo3(signature = (variables, count, findings, options, seconds = None))]
    fn map(
        &self,
        py: Python<'_>,
        variables: Vec<usize>,
        count: usize,
        findings: Findings,
        options: &Options,
        seconds: Option<f64>,
    ) -> Result<Mapped> {
        let (net, options) = (self.0.clone(), options.0.clone());
        let found = work::long(py, None, move |watch| {
            let asked: Vec<VarId> = variables.into_iter().map(sumout::internals::var).collect();
            let evidence = evidence(&net, findings)?;
            let options = watch.over(&options);
            work::within(seconds, watch.control(), || {
                net.map(&asked, count, &evidence, &options)
            })
        })?;
        Ok((
            found.assignments().to_vec(),
            found.bound(),
            found.is_proved(),
            found.nodes(),
            found.log_evidence(),
        ))
    }

    /// The entropy of a target, and how much of it observing each of some variables is expected to remove, the
    /// largest first; none if the evidence is impossible.
    fn information(
        &self,
        py: Python<'_>,
        target: usize,
        among: Vec<usize>,
        before: Vec<usize>,
        findings: Findings,
        options: &Options,
    ) -> Result<Option<Informed>> {
        let (net, options) = (self.0.clone(), options.0.clone());
        work::long(py, None, move |watch| {
            let evidence = evidence(&net, findings)?;
            let options = watch.over(&options);
            questions::information(&net, target, [among, before], &evidence, &options)
        })
    }

    /// How the probability of a value depends on the numbers of the CPTs: the probability; and for each number its
    /// variable and entry, the number, the derivative, its range and its function. None if the evidence is impossible.
    fn sensitivity(
        &self,
        py: Python<'_>,
        target: usize,
        value: usize,
        findings: Findings,
        options: &Options,
    ) -> Result<Option<Sensitive>> {
        let (net, options) = (self.0.clone(), options.0.clone());
        work::long(py, None, move |watch| {
            let evidence = evidence(&net, findings)?;
            questions::sensitivity(&net, (target, value), &evidence, &watch.over(&options))
        })
    }

    /// Compiles a query.
    fn compile(&self, py: Python<'_>, query: &Query, options: &Options) -> Result<Circuit> {
        let (net, query, options) = (self.0.clone(), query.0.clone(), options.0.clone());
        Ok(Circuit::new(work::long(py, None, move |watch| {
            net.compile(&query, &watch.over(&options))
        })?))
    }

    /// Plans a query.
    fn plan(&self, py: Python<'_>, query: &Query, options: &Options) -> Result<Plan> {
        let (net, query, options) = (self.0.clone(), query.0.clone(), options.0.clone());
        work::long(py, None, move |watch| {
            Ok(Plan::new(&net.plan(&query, &watch.over(&options))?))
        })
    }

    /// Cases: a row for each, a column for each variable, the positions of their values.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
    ) -> Result<Bound<'py, PyArray2<i32>>> {
        let (net, width) = (self.0.clone(), self.0.variables().len());
        let cells = work::long(py, None, move |watch| draw(&net, rows, seed, watch))?;
        let cells = Array2::from_shape_vec((rows, width), cells).expect("rows of this width");
        Ok(cells.into_pyarray(py))
    }

    /// The same from the posterior given evidence; none if the evidence is impossible.
    fn sample_given<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
        findings: Findings,
    ) -> Result<Option<Bound<'py, PyArray2<i32>>>> {
        let (net, width) = (self.0.clone(), self.0.variables().len());
        let drawn = work::long(py, None, move |watch| {
            let evidence = evidence(&net, findings)?;
            let options = watch.over(&sumout::Options::default());
            net.sample_given(rows as u64, seed, &evidence, &options)
        })?;
        Ok(drawn.map(|cases| {
            let cells = cases.rows().flatten();
            let cells = cells.map(|cell| cell.map_or(-1, |value| value as i32));
            let cells = Array2::from_shape_vec((rows, width), cells.collect());
            cells.expect("rows of this width").into_pyarray(py)
        }))
    }

    fn markov_blanket(&self, variable: usize) -> Vec<usize> {
        let blanket = self.0.markov_blanket(sumout::internals::var(variable));
        blanket.into_iter().map(VarId::index).collect()
    }

    /// Whether some variables separate two others in the graph.
    fn is_separated(&self, a: usize, b: usize, given: Vec<usize>) -> bool {
        let given: Vec<VarId> = given.into_iter().map(sumout::internals::var).collect();
        let [a, b] = [a, b].map(sumout::internals::var);
        self.0.is_separated(&[a], &[b], &given)
    }

    /// The network of variables with values, and factors.
    #[staticmethod]
    fn build(
        name: &str,
        is_markov: bool,
        normalize: bool,
        variables: Vec<(String, Vec<String>)>,
        factors: Vec<(Vec<usize>, Numbers<'_>, Roles)>,
    ) -> Result<Self> {
        let mut builder = if is_markov {
            sumout::Network::markov(name)
        } else {
            sumout::Network::builder(name)
        };
        builder.normalize(normalize);
        let nodes: Vec<_> = variables
            .into_iter()
            .map(|(name, values)| builder.variable(name, values))
            .collect();
        for (scope, numbers, role) in factors {
            let scope = scope.into_iter().map(|index| nodes[index]).collect();
            add_factor(&mut builder, is_markov, scope, numbers, role)?;
        }
        Ok(Network(Arc::new(builder.build()?)))
    }

    /// The values of a function, in the order of the parents' joint states; none if it is not a known
    /// function.
    fn function(&self, factor: usize) -> Option<Vec<u32>> {
        match self.0.cpts()[factor].body() {
            Body::Function(values) => Some(values.clone()),
            Body::Table(_) | Body::Selected(_) => None,
        }
    }
}

impl Network {
    /// Another network made of this one.
    fn changed(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&sumout::Network) -> sumout::Result<sumout::Network> + Send,
    ) -> Result<Self> {
        let net = work::short(py, || change(&self.0))?;
        Ok(Network(Arc::new(net)))
    }
}
