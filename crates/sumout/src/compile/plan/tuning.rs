//! The numbers that steer the search for a plan, in one place, to be measured and changed together.

/// At effort 1 no search takes more steps than this, which is about a second.
pub(super) const MAX_STEPS: f64 = 4e6;

/// A step of the search takes about as long as this many products.
pub(super) const PRODUCTS_PER_STEP: f64 = 150.0;

/// With more variables than this, sets of them are so large that a move takes longer than a step.
pub(super) const VARIABLES_PER_STEP: f64 = 3000.0;

/// After this many steps for each leaf, more of them find nothing better.
pub(super) const MAX_STEPS_PER_LEAF: f64 = 2e4;

/// Making a plan takes about as long as this many steps for each of its leaves.
pub(super) const STEPS_TO_MAKE_LEAF: f64 = 50.0;

/// A question that is run once is worth plans with copies if it takes more products than this.
pub(super) const MIN_PRODUCTS_TO_COPY: f64 = 1e10;

/// From this effort on, plans with copies are always looked for.
pub(super) const MIN_EFFORT_TO_COPY: f64 = 100.0;

/// A leaf of a plan that is run once takes about as long to plan as this many products to run.
pub(super) const PRODUCTS_PER_LEAF: f64 = 1e5;

/// The limit on numbers stored once is never lower than this.
pub(super) const MIN_CONSTANT_LIMIT: f64 = 1e6;

/// How many times dearer constants become, step by step, while too many numbers are stored once.
pub(super) const CONSTANT_PRICE_FACTORS: [f64; 8] = [2.0, 2.0, 2.0, 2.0, 2.0, 4.0, 10.0, 50.0];

/// Temperatures at which nothing is accepted that makes a tree worse.
pub(super) const COLD_TEMPERATURES: (f64, f64) = (1e-9, 1e-10);

/// No plan has more leaves than this.
pub(super) const MAX_LEAVES: usize = 100_000;

/// A plan that costs this many times as much as the best is given up while it is being built.
pub(super) const MAX_COST_RATIO: f64 = 30.0;

/// Where copies bring the cost down to less than this share, plans without them are given up.
pub(super) const MAX_SHARE_WITHOUT_RIVAL: f64 = 0.1;

/// How many plans are kept to be improved.
pub(super) const MAX_KEPT_PLANS: usize = 3;

/// The share of the budget that goes to runs with noise, before annealing.
pub(super) const RESTART_SHARE: f64 = 0.2;

/// How many times the best plans are annealed.
pub(super) const ANNEALING_ROUNDS: usize = 4;
