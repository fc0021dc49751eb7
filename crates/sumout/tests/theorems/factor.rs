//! Factors, written as the paper defines them (section 2): slow, and obvious.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Mul;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A value for each of some variables; a variable is a letter.
type Instantiation = BTreeMap<char, usize>;

/// A function from the instantiations of some variables to numbers.
#[derive(Clone, Debug)]
pub struct Factor {
    pub vars: BTreeSet<char>,
    table: BTreeMap<Instantiation, f64>,
}

/// Variables have two or three values.
fn card(var: char) -> usize {
    2 + var as usize % 2
}

/// All instantiations of some variables.
fn instantiations(vars: &BTreeSet<char>) -> Vec<Instantiation> {
    let mut all = vec![Instantiation::new()];
    for &var in vars {
        let with = |x: &Instantiation, value| {
            let mut x = x.clone();
            x.insert(var, value);
            x
        };
        all = all
            .iter()
            .flat_map(|x| (0..card(var)).map(move |value| with(x, value)))
            .collect();
    }
    all
}

impl Factor {
    pub fn new(vars: BTreeSet<char>, number: impl FnMut(&Instantiation) -> f64) -> Self {
        let states = instantiations(&vars);
        let numbers: Vec<f64> = states.iter().map(number).collect();
        Factor {
            vars,
            table: states.into_iter().zip(numbers).collect(),
        }
    }

    /// Numbers between 0 and 1.
    pub fn random(r: &mut ChaCha8Rng, vars: &str) -> Self {
        Factor::new(vars.chars().collect(), |_| r.random())
    }

    /// The CPT of the first variable given the others: of each row, the numbers add up to one.
    pub fn cpt(r: &mut ChaCha8Rng, family: &str) -> Self {
        let weights = Factor::random(r, family);
        let rows = weights.sum_out(&family[..1]);
        Factor::new(weights.vars.clone(), |x| weights.at(x) / rows.at(x))
    }

    /// A CPT of the first variable in which each row has a single 1.
    pub fn functional_cpt(r: &mut ChaCha8Rng, family: &str) -> Self {
        let child = family.chars().next().expect("a family has a child");
        let parents = Factor::new(family[1..].chars().collect(), |_| {
            r.random_range(0..card(child)) as f64
        });
        let vars = family.chars().collect();
        Factor::new(vars, |x| f64::from(x[&child] as f64 == parents.at(x)))
    }

    fn all_vars(&self, other: &Factor) -> BTreeSet<char> {
        &self.vars | &other.vars
    }

    /// The number of the only instantiation that is compatible with `x`.
    fn at(&self, x: &Instantiation) -> f64 {
        let own = self.vars.iter().map(|var| (*var, x[var])).collect();
        self.table[&own]
    }

    /// Σ over some variables.
    pub fn sum_out(&self, vars: &str) -> Self {
        self.without(vars, |sum, number| sum + number)
    }

    /// The largest number over some variables.
    pub fn max_out(&self, vars: &str) -> Self {
        self.without(vars, f64::max)
    }

    fn without(&self, vars: &str, fold: impl Fn(f64, f64) -> f64) -> Self {
        let gone: BTreeSet<char> = vars.chars().collect();
        let mut out = Factor::new(&self.vars - &gone, |_| 0.0);
        for (x, &number) in &self.table {
            let rest = x.iter().filter(|(var, _)| !gone.contains(var));
            let rest = rest.map(|(var, value)| (*var, *value)).collect();
            let to = out.table.get_mut(&rest).expect("all instantiations exist");
            *to = fold(*to, number);
        }
        out
    }

    /// The paper's Σ with a small equality sign: sums out all variables except these.
    pub fn sum_to(&self, vars: &BTreeSet<char>) -> Self {
        let gone: String = (&self.vars - vars).into_iter().collect();
        self.sum_out(&gone)
    }

    /// Whether all numbers are the same, up to rounding, wherever one of the two has variables.
    pub fn is_same(&self, other: &Factor) -> bool {
        let differ = |x: &Instantiation| (self.at(x) - other.at(x)).abs() > 1e-12;
        !instantiations(&self.all_vars(other)).iter().any(differ)
    }
}

impl Mul for &Factor {
    type Output = Factor;

    fn mul(self, other: &Factor) -> Factor {
        Factor::new(self.all_vars(other), |z| self.at(z) * other.at(z))
    }
}
