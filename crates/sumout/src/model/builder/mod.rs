//! Builds networks, and refuses wrong ones.
//!
//! Mistakes are kept until [`Builder::build`], so that a network reads as a list of statements.
//! Each mistake knows its [`Site`], which the file formats turn into a line and a caret.

mod assemble;
mod check;
mod rounded;
mod selection;

pub(crate) use check::{Origin, Site, miscount};

use crate::error::Result;
use crate::model::cpt::{Body, Role};
use crate::model::factors::Variable;
use crate::model::network::Network;
use crate::model::selection::{SelectedCpt, Selection, SelectionKind, Sight};
use crate::vars::VarId;
use check::{Mistake, Nowhere};
use rounded::Rescaled;

/// A function or a constraint over more joint states than this is refused instead of tabulated.
const MAX_TABULATED: usize = 1 << 28;

/// A variable of a network that is being built: its position in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(pub(crate) usize);

/// Collects variables and CPTs, and makes a [`Network`] of them.
///
/// ```
/// use sumout::Network;
///
/// let mut b = Network::builder("sprinkler");
/// let rain = b.variable("rain", ["yes", "no"]);
/// let wet = b.variable("wet", ["yes", "no"]);
/// b.table(rain, [], [0.2, 0.8]);
/// b.function(wet, [rain], |u| u[0]).fixed();
/// let net = b.build()?;
/// assert!(net.cpts()[1].is_functional());
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    name: String,
    is_markov: bool,
    normalize: bool,
    /// Whether rows need not be probabilities, as in potentials.
    is_unscaled: bool,
    rescaled: Rescaled,
    notes: Vec<String>,
    variables: Vec<Variable>,
    drafts: Vec<CptDraft>,
    mistakes: Vec<Mistake>,
    sight: Sight,
}

/// A CPT that was just added; its methods set its roles.
#[derive(Debug)]
pub struct CptDraft {
    scope: Vec<usize>,
    body: Body,
    role: Role,
}

impl CptDraft {
    /// Declares it a function of the parents, even if its numbers are not one until it is trained.
    pub fn functional(&mut self) -> &mut Self {
        self.role.functional = true;
        self
    }

    /// Keeps its numbers from being trained.
    pub fn fixed(&mut self) -> &mut Self {
        self.role.fixed = true;
        self
    }

    /// Keeps its zeros when the rest is trained.
    pub fn keep_zeros(&mut self) -> &mut Self {
        self.role.keep_zeros = true;
        self
    }

    /// Shares its parameters with all CPTs of the same tie.
    pub fn tie(&mut self, name: impl Into<String>) -> &mut Self {
        self.role.tie = Some(name.into());
        self
    }

    /// Says what is known of each copy of a selected CPT.
    pub fn copies(&mut self, roles: impl IntoIterator<Item = Role>) -> &mut Self {
        if let Body::Selected(it) = &mut self.body {
            it.roles = roles.into_iter().collect();
        }
        self
    }

    /// Keeps the thresholds of a selected CPT, and all else that its selection depends on, from being
    /// trained.
    pub fn fix_selection(&mut self) -> &mut Self {
        if let Body::Selected(it) = &mut self.body {
            it.is_fixed = true;
        }
        self
    }

    /// Shares the thresholds of a selected CPT with all of the same tie.
    pub fn tie_selection(&mut self, name: impl Into<String>) -> &mut Self {
        if let Body::Selected(it) = &mut self.body {
            it.tie = Some(name.into());
        }
        self
    }

    /// Sets all that is known about it at once.
    pub fn role(&mut self, role: Role) -> &mut Self {
        self.role = role;
        self
    }
}

impl Builder {
    pub(super) fn new(name: String, is_markov: bool) -> Self {
        Builder {
            name,
            is_markov,
            normalize: false,
            is_unscaled: false,
            rescaled: Rescaled::default(),
            notes: vec![],
            variables: vec![],
            drafts: vec![],
            mistakes: vec![],
            sight: Sight::default(),
        }
    }

    /// Rescales rows that do not sum to one instead of refusing them.
    pub fn normalize(&mut self, on: bool) -> &mut Self {
        self.normalize = on;
        self
    }

    /// Adds a variable with its values.
    pub fn variable<S: Into<String>>(
        &mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = S>,
    ) -> Node {
        let values = values.into_iter().map(Into::into).collect();
        self.variables.push(Variable {
            name: name.into(),
            values,
        });
        Node(self.variables.len() - 1)
    }

    /// Gives a variable its CPT: a row for every joint state of the parents, the last parent
    /// fastest; in a row, a probability for every value.
    pub fn table(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        table: impl Into<Vec<f64>>,
    ) -> &mut CptDraft {
        let scope = parents.into_iter().chain([child]).map(|n| n.0).collect();
        self.draft(scope, Body::Table(table.into()))
    }

    /// Gives a variable its value as a function of the positions of the parents' values.
    pub fn function(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        function: impl Fn(&[usize]) -> usize,
    ) -> &mut CptDraft {
        let parents: Vec<usize> = parents.into_iter().map(|n| n.0).collect();
        let values = self.tabulate(&parents, |states| function(states) as u32);
        self.draft(
            parents.into_iter().chain([child.0]).collect(),
            Body::Function(values),
        )
    }

    /// Gives a variable its value for every joint state of the parents, the last parent fastest.
    pub fn mapping(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        values: impl Into<Vec<u32>>,
    ) -> &mut CptDraft {
        let scope = parents.into_iter().chain([child]).map(|n| n.0).collect();
        self.draft(scope, Body::Function(values.into()))
    }

    /// Gives a variable the uniform distribution over the values that `allowed` accepts, given the
    /// positions of the parents' values followed by its own.
    pub fn constraint(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        allowed: impl Fn(&[usize]) -> bool,
    ) -> &mut CptDraft {
        let scope: Vec<usize> = parents.into_iter().chain([child]).map(|n| n.0).collect();
        let mut table = self.tabulate(&scope, |states| f64::from(u8::from(allowed(states))));
        for row in table.chunks_mut(self.card(child.0).max(1)) {
            let allowed: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= allowed.max(1.0));
        }
        self.draft(scope, Body::Table(table))
    }

    /// Gives a variable a CPT that is selected by a test: `copies` are tables as for
    /// [`Builder::table`], the first for the lowest posteriors. Their roles are set by
    /// [`CptDraft::copies`]; [`CptDraft::fix_selection`] and [`CptDraft::tie_selection`] are for
    /// the selection itself.
    ///
    /// ```
    /// use sumout::model::{Comparison, Selection, SelectionKind};
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let mut b = Network::builder("suspicious");
    /// let fire = b.variable("fire", ["yes", "no"]);
    /// let smoke = b.variable("smoke", ["yes", "no"]);
    /// let alarm = b.variable("alarm", ["yes", "no"]);
    /// b.table(fire, [], [0.1, 0.9]);
    /// b.table(smoke, [fire], [0.9, 0.1, 0.2, 0.8]);
    /// let [calm, alert] = [[0.6, 0.4, 0.0, 1.0], [1.0, 0.0, 0.3, 0.7]];
    /// let by = Selection::of_rows(2, &[0.3], SelectionKind::Step(Comparison::AtLeast));
    /// b.selected(alarm, [fire], [calm, alert], by);
    /// let net = b.build()?;
    ///
    /// let seen = Evidence::new().observe(&net, "smoke", "yes")?; // P(fire | smoke) = 1/3 is at least 0.3
    /// let answer = net.query(&[net.find("alarm")?], &seen, &Options::default())?;
    /// assert!((answer.posteriors()[0].1[0] - (1.0 / 3.0 + 2.0 / 3.0 * 0.3)).abs() < 1e-12);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn selected<T: Into<Vec<f64>>>(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        copies: impl IntoIterator<Item = T>,
        selection: Selection,
    ) -> &mut CptDraft {
        let tables: Vec<Vec<f64>> = copies.into_iter().map(Into::into).collect();
        let roles = vec![Role::default(); tables.len()];
        let copies = SelectedCpt {
            table: tables.concat(),
            roles,
            selection,
            is_fixed: false,
            tie: None,
        };
        let scope = parents.into_iter().chain([child]).map(|n| n.0).collect();
        self.draft(scope, Body::Selected(Box::new(copies)))
    }

    /// Gives a variable a CPT whose rows are the softmax of W·e + b, where e are the indicators of
    /// the evidence on some other variables: `biases` has a number for each row and each value, and
    /// `weights` for each of them one for each value of each of the others.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let mut b = Network::builder("weather");
    /// let [season, sky, rain] = ["season", "sky", "rain"].map(|name| b.variable(name, ["a", "b"]));
    /// b.table(season, [], [0.5, 0.5]);
    /// b.table(sky, [season], [0.7, 0.3, 0.2, 0.8]);
    /// // P(rain | sky) is one half in all rows but for the last, in which season `b` makes it e² times as probable.
    /// b.logits(rain, [sky], [season], [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0], [0.0; 4]);
    /// let net = b.build()?;
    /// let evidence = Evidence::new().observe(&net, "season", "b")?.observe(&net, "sky", "b")?;
    /// let answer = net.query(&[net.find("rain")?], &evidence, &Options::default())?;
    /// assert!((answer.posteriors()[0].1[0] - 1.0 / (1.0 + (-2.0f64).exp())).abs() < 1e-12);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn logits(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        of: impl IntoIterator<Item = Node>,
        weights: impl Into<Vec<f64>>,
        biases: impl Into<Vec<f64>>,
    ) -> &mut CptDraft {
        let scope: Vec<usize> = parents.into_iter().chain([child]).map(|n| n.0).collect();
        let (weights, biases) = (weights.into(), biases.into());
        let card = self.card(child.0);
        // None if there are not as many as biases, of which the check tells; or too many.
        let rows = scope[..scope.len() - 1]
            .iter()
            .map(|&v| self.card(v))
            .fold(1, usize::saturating_mul);
        let rows = if rows.saturating_mul(card) == biases.len() {
            rows
        } else {
            0
        };
        let is_large = rows.saturating_mul(card).saturating_mul(card) > MAX_TABULATED;
        if is_large {
            let mistake = Mistake::new(
                Site::Cpt(self.drafts.len()),
                "a softmax has too many logits to tabulate",
            );
            self.mistakes
                .push(mistake.hint("give the variable fewer values, or fewer parents"));
        }
        let rows = if is_large { 0 } else { rows };
        let of = of.into_iter().map(|n| VarId::new(n.0)).collect();
        let selection = Selection {
            copies: card,
            thresholds: vec![],
            kind: SelectionKind::Softmax {
                of,
                weights,
                biases,
            },
        };
        self.draft(
            scope,
            Body::Selected(Box::new(SelectedCpt::direct(rows, card, selection))),
        )
    }

    /// Sets which evidence selections see.
    pub fn sight(&mut self, sight: Sight) -> &mut Self {
        self.sight = sight;
        self
    }

    /// Adds a potential of a Markov network: a number for every joint state, the last variable
    /// fastest.
    pub fn potential(
        &mut self,
        scope: impl IntoIterator<Item = Node>,
        table: impl Into<Vec<f64>>,
    ) -> &mut CptDraft {
        let scope = scope.into_iter().map(|n| n.0).collect();
        self.draft(scope, Body::Table(table.into()))
    }

    /// Declares its tables potentials, whose rows need not sum to one where they are written.
    pub(super) fn unscaled(&mut self) {
        self.is_unscaled = true;
    }

    /// Adds a note for whoever reads the network; see [`Network::notes`].
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Changes what is known about all CPTs so far.
    pub(super) fn change_roles(&mut self, change: impl Fn(&mut Role)) {
        self.drafts
            .iter_mut()
            .for_each(|draft| change(&mut draft.role));
    }

    fn draft(&mut self, scope: Vec<usize>, body: Body) -> &mut CptDraft {
        self.drafts.push(CptDraft {
            scope,
            body,
            role: Role::default(),
        });
        self.drafts.last_mut().expect("just pushed")
    }

    fn card(&self, node: usize) -> usize {
        self.variables[node].values.len()
    }

    /// `f` at every joint state of `scope`, the last fastest.
    fn tabulate<T>(&mut self, scope: &[usize], f: impl Fn(&[usize]) -> T) -> Vec<T> {
        let cards: Vec<usize> = scope.iter().map(|&n| self.card(n)).collect();
        let size = cards
            .iter()
            .try_fold(1usize, |size, &card| size.checked_mul(card));
        let Some(size) = size.filter(|&size| size <= MAX_TABULATED) else {
            let message = format!(
                "a function over {} variables has too many joint states to tabulate",
                scope.len()
            );
            let mistake = Mistake::new(Site::Cpt(self.drafts.len()), message);
            self.mistakes
                .push(mistake.hint("split it into a chain of smaller functions"));
            return vec![];
        };
        let mut states = vec![0; scope.len()];
        (0..size)
            .map(|_| {
                let value = f(&states);
                advance(&mut states, &cards);
                value
            })
            .collect()
    }

    /// The network, or the first mistake.
    pub fn build(self) -> Result<Network> {
        self.build_from(&Nowhere)
    }

    /// The network, or the first mistake with its place in a file.
    pub(crate) fn build_from(mut self, origin: &dyn Origin) -> Result<Network> {
        self.check(origin).map_err(|mistake| mistake.at(origin))
    }

    fn check(&mut self, origin: &dyn Origin) -> Result<Network, Mistake> {
        if !self.mistakes.is_empty() {
            return Err(self.mistakes.remove(0));
        }
        self.check_variables()?;
        for index in 0..self.drafts.len() {
            self.check_draft(index, origin)?;
        }
        let order = if self.is_markov {
            (0..self.variables.len()).collect()
        } else {
            self.topological_order()?
        };
        let draft_of = if self.is_markov {
            vec![]
        } else {
            self.cpt_of()?
        };
        let net = self.assemble(&order);
        selection::check_sight(&net, |v| draft_of[order[v]])?;
        Ok(net)
    }
}

/// The next joint state, the last variable fastest.
fn advance(states: &mut [usize], cards: &[usize]) {
    for (state, &card) in states.iter_mut().zip(cards).rev() {
        *state += 1;
        if *state < card {
            return;
        }
        *state = 0;
    }
}
