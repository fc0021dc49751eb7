//! The paper's statements, one test each: theorems, figures and worked examples.
//!
//! A theorem is tested on random factors, with a twin for each of its conditions: without the
//! condition there must be a counterexample. Numbers of tables are in `crates/sumout-paper`.

mod factor;
mod jointree;

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::Network;
use sumout::internals::paper::{MAX_LEAVES, plan, pruned};

use factor::Factor;
use jointree::{FAMILIES, Jointree};

/// The random cases of each statement.
const SEEDS: u64 = 200;

/// The seed of random factors for which the two sides of an equation differ, if there is one.
fn counterexample(sides: impl Fn(&mut ChaCha8Rng) -> [Factor; 2]) -> Option<u64> {
    (0..SEEDS).find(|&seed| {
        let [left, right] = sides(&mut ChaCha8Rng::seed_from_u64(seed));
        !left.is_same(&right)
    })
}

fn assert_holds(sides: impl Fn(&mut ChaCha8Rng) -> [Factor; 2]) {
    let seed = counterexample(sides);
    assert_eq!(seed, None, "the sides differ for this seed");
}

fn assert_fails(sides: impl Fn(&mut ChaCha8Rng) -> [Factor; 2]) {
    assert!(
        counterexample(sides).is_some(),
        "there is no counterexample"
    );
}

/// A factor over these variables, and perhaps over some of others.
fn factor(r: &mut ChaCha8Rng, vars: &str, others: &str) -> Factor {
    let vars = format!("{vars}{}", some(r, others));
    Factor::random(r, &vars)
}

fn some(r: &mut ChaCha8Rng, vars: &str) -> String {
    vars.chars().filter(|_| r.random()).collect()
}

/// A functional CPT of X, given some parents.
fn functional(r: &mut ChaCha8Rng) -> Factor {
    let parents = some(r, "UV");
    Factor::functional_cpt(r, &format!("X{parents}"))
}

/// Any CPT of X, given some parents.
fn any_cpt(r: &mut ChaCha8Rng) -> Factor {
    let parents = some(r, "UV");
    Factor::cpt(r, &format!("X{parents}"))
}

/// Theorem 1. Σ_XY f = Σ_X Σ_Y f = Σ_Y Σ_X f.
#[test]
fn theorem_1_sums_in_any_order() {
    assert_holds(|r| {
        let f = factor(r, "XY", "ZW");
        [f.sum_out("XY"), f.sum_out("Y").sum_out("X")]
    });
    assert_holds(|r| {
        let f = factor(r, "XY", "ZW");
        [f.sum_out("Y").sum_out("X"), f.sum_out("X").sum_out("Y")]
    });
}

/// A sum and a maximum do not change places.
#[test]
fn theorem_1_needs_two_sums() {
    assert_fails(|r| {
        let f = factor(r, "XY", "ZW");
        [f.sum_out("Y").max_out("X"), f.max_out("X").sum_out("Y")]
    });
}

/// Theorem 2. If X appears in f but not in g, then Σ_X f · g = g · Σ_X f.
#[test]
fn theorem_2_sums_out_of_one_factor() {
    assert_holds(|r| {
        let (f, g) = (factor(r, "X", "YZ"), factor(r, "", "YZW"));
        [(&f * &g).sum_out("X"), &g * &f.sum_out("X")]
    });
}

#[test]
fn theorem_2_needs_a_variable_that_appears_in_one_factor_only() {
    assert_fails(|r| {
        let (f, g) = (factor(r, "X", "YZ"), factor(r, "X", "YZW"));
        let sum = &g * &f.sum_out("X");
        [(&f * &g).sum_out("X"), sum.sum_out("X")]
    });
}

/// Both sides of Theorem 3: G · H and G · Σ_X H.
fn theorem_3(g: &Factor, h: &Factor) -> [Factor; 2] {
    [g * h, g * &h.sum_out("X")]
}

/// Theorem 3. If the functional CPT f of X is in G and in H, then G · H = G · Σ_X H.
#[test]
fn theorem_3_sums_a_functional_variable_out_of_one_side() {
    assert_holds(|r| {
        let f = functional(r);
        let g = &f * &factor(r, "", "XUZ");
        let h = &f * &factor(r, "", "XVW");
        theorem_3(&g, &h)
    });
}

#[test]
fn theorem_3_needs_a_functional_cpt() {
    assert_fails(|r| {
        let f = any_cpt(r);
        let g = &f * &factor(r, "", "XUZ");
        let h = &f * &factor(r, "", "XVW");
        theorem_3(&g, &h)
    });
}

#[test]
fn theorem_3_needs_the_cpt_in_the_side_that_is_summed() {
    assert_fails(|r| {
        let f = functional(r);
        let g = &f * &factor(r, "", "XUZ");
        theorem_3(&g, &factor(r, "X", "UVW"))
    });
}

#[test]
fn theorem_3_needs_the_cpt_in_the_side_that_is_not_summed() {
    assert_fails(|r| {
        let f = functional(r);
        let h = &f * &factor(r, "", "XVW");
        theorem_3(&factor(r, "X", "UVZ"), &h)
    });
}

/// Both sides of Corollary 1: Σ_X G · H and (Σ_X G) (Σ_X H).
fn corollary_1(g: &Factor, h: &Factor) -> [Factor; 2] {
    [(g * h).sum_out("X"), &g.sum_out("X") * &h.sum_out("X")]
}

/// Corollary 1. If the functional CPT f of X is in G and in H, then
/// Σ_X G · H = (Σ_X G) (Σ_X H).
#[test]
fn corollary_1_sums_a_functional_variable_out_of_both_sides() {
    assert_holds(|r| {
        let f = functional(r);
        let g = &f * &factor(r, "", "XUZ");
        let h = &f * &factor(r, "", "XVW");
        corollary_1(&g, &h)
    });
}

#[test]
fn corollary_1_needs_a_functional_cpt() {
    assert_fails(|r| {
        let f = any_cpt(r);
        let g = &f * &factor(r, "", "XUZ");
        let h = &f * &factor(r, "", "XVW");
        corollary_1(&g, &h)
    });
}

#[test]
fn corollary_1_needs_the_cpt_in_both_sides() {
    assert_fails(|r| {
        let f = functional(r);
        let g = &f * &factor(r, "", "XUZ");
        corollary_1(&g, &factor(r, "X", "UVW"))
    });
}

/// Theorem 4. If the functional CPT f is in G, then f · G = G.
#[test]
fn theorem_4_copies_a_functional_cpt() {
    assert_holds(|r| {
        let f = functional(r);
        let g = &f * &factor(r, "", "XUZ");
        [&f * &g, g]
    });
}

#[test]
fn theorem_4_needs_a_functional_cpt() {
    assert_fails(|r| {
        let f = any_cpt(r);
        let g = &f * &factor(r, "", "XUZ");
        [&f * &g, g]
    });
}

#[test]
fn theorem_4_needs_the_cpt_among_the_factors() {
    assert_fails(|r| {
        let (f, g) = (functional(r), factor(r, "X", "UVZ"));
        [&f * &g, g]
    });
}

/// Section 2.1: Σ_X f(XY) g(XZ) h(XW) needs no factor over four variables if f is a function.
#[test]
fn the_example_of_section_2_1_needs_three_variables_and_not_four() {
    assert_holds(|r| {
        let f = Factor::functional_cpt(r, "XY");
        let (g, h) = (Factor::random(r, "XZ"), Factor::random(r, "XW"));
        let product = &(&f * &g) * &h;
        let (left, right) = (&f * &g, &f * &h);
        let result = &left.sum_out("X") * &right.sum_out("X");
        assert_eq!(product.vars.len(), 4);
        assert_eq!(
            [&left, &right, &result].map(|factor| factor.vars.len()),
            [3; 3]
        );
        [product.sum_out("X"), result]
    });
}

/// The largest cluster that the library's implementation of the paper has for the same sum.
#[test]
fn the_planner_finds_the_example_of_section_2_1() {
    let [known, functional] = [false, true].map(|is_functional| {
        let mut problem = pruned(section_2_1(is_functional).model());
        let [y, z, w] = [0, 2, 3].map(sumout::internals::var);
        problem.output = [y, z, w].into_iter().collect();
        plan(&problem, MAX_LEAVES).plan.cost.rank
    });
    assert_eq!([known, functional], [4, 3]);
}

/// Y → X, and X → Z, X → W.
fn section_2_1(is_functional: bool) -> Network {
    let mut b = Network::builder("section 2.1");
    let [y, x, z, w] = ["y", "x", "z", "w"].map(|name| b.variable(name, ["0", "1"]));
    let noisy = [0.9, 0.1, 0.2, 0.8];
    b.table(y, [], [0.4, 0.6]);
    if is_functional {
        b.function(x, [y], |u| u[0]);
    } else {
        b.table(x, [y], noisy);
    }
    b.table(z, [x], noisy);
    b.table(w, [x], noisy);
    b.build().expect("the network is well formed")
}

/// Figure 2, left: the view from the host of D.
const FROM_D: &str = "D <- (E (C (B A)))";

/// Figure 2, right: the same jointree from the host of B.
const FROM_B: &str = "B <- (A (C (E D)))";

/// Figure 2. The separator of nodes 6 and 7 is {B, C}: what leaves {0, 2} and {1, 3, 4} share.
#[test]
fn figure_2_has_the_separators_of_the_paper() {
    let view = Jointree::new(FROM_D, "", "AE");
    assert_eq!(view.sep("(E (C (B A)))"), "BC");
    assert_eq!(view.sep("(C (B A))"), "BC");
    assert_eq!(view.sep("(B A)"), "AB");
    assert_eq!(
        ["E", "C", "B", "A"].map(|leaf| view.sep(leaf)),
        ["C", "AC", "AB", "A"]
    );
}

/// The two jointrees of Figure 2 are one, seen from two hosts: each edge has one separator.
#[test]
fn figure_2_has_the_same_separators_in_both_views() {
    let [from_d, from_b] = [FROM_D, FROM_B].map(|view| Jointree::new(view, "", "ADE"));
    assert_eq!(from_b.sep("(C (E D))"), from_d.sep("(B A)"));
    assert_eq!(from_b.sep("(E D)"), from_d.sep("(C (B A))"));
    assert_eq!(from_b.sep("(A (C (E D)))"), from_d.sep("B"));
    assert_eq!(from_b.sep("D"), from_d.sep("(E (C (B A)))"));
}

/// Section 3.2, by Equations 1 and 2, with fX λX for the paper's F: the sums that change nothing
/// are left out.
#[test]
fn section_3_2_compiles_to_its_f_expression() {
    let view = Jointree::new(FROM_D, "", "AE");
    insta::assert_snapshot!(
        view.f_expression(),
        @"Σ=D fD [Σ=BC [Σ=C fE λE] [Σ=BC fC [Σ=AB fB [Σ=A fA λA]]]]"
    );
}

/// Section 3.3: "our proposed technique will have an effect only when functional CPTs have multiple
/// occurrences".
#[test]
fn separators_shrink_only_where_functional_cpts_occur_again() {
    for view in [FROM_D, FROM_B] {
        let view = Jointree::new(view, "BC", "ADE");
        assert_eq!(view.shrunk().separators(), view.separators());
    }
    let replicated = Jointree::new(FIGURE_3, "BC", "ADE");
    assert_ne!(replicated.shrunk().separators(), replicated.separators());
    let not_functional = Jointree::new(FIGURE_3, "", "ADE");
    assert_eq!(
        not_functional.shrunk().separators(),
        not_functional.separators()
    );
}

/// Figure 3, right. Nodes 5, 6 and 8 are the root and its children.
const FIGURE_3: &str = "B <- (((C E) A) (C (B D)))";

/// The worked example of section 3.3: sep(6) and sep(8) end as {A}.
#[test]
fn section_3_3_shrinks_both_children_of_the_root_to_a() {
    let [node_5, node_6, node_8] = ["(((C E) A) (C (B D)))", "((C E) A)", "(C (B D))"];
    let view = Jointree::new(FIGURE_3, "BC", "ADE");
    assert_eq!(
        [node_5, node_6, node_8].map(|node| view.sep(node)),
        ["AB", "AC", "ABC"]
    );
    let shrunk = view.shrunk();
    assert_eq!(
        [node_5, node_6, node_8].map(|node| shrunk.sep(node)),
        ["A", "A", "A"]
    );
}

/// Equations 1 and 2, evaluated with a CPT for each variable and evidence on those that have some.
fn posterior(view: &Jointree, cpts: &BTreeMap<char, Factor>, evidence: &[Factor]) -> Factor {
    let mut factors: Vec<Factor> = vec![];
    for (leaf, (var, is_replica)) in view.leaves().enumerate() {
        let hosted = evidence
            .iter()
            .filter(|λ| !is_replica && λ.vars.contains(&var));
        let product = hosted.fold(cpts[&var].clone(), |product, λ| &product * λ);
        factors.push(product.sum_to(&view.sep_of_leaf(leaf)));
    }
    for ((l, r), separator) in view.joins() {
        let product = &factors[l] * &factors[r];
        factors.push(product.sum_to(&separator));
    }
    factors.pop().expect("a jointree has a root")
}

/// The f-expression of Figure 3 with shrunk separators, and the sum that it stands for.
fn figure_3(r: &mut ChaCha8Rng, are_functions: bool) -> [Factor; 2] {
    let cpt = |r: &mut ChaCha8Rng, family: &str| match family {
        "BA" | "CA" if are_functions => Factor::functional_cpt(r, family),
        _ => Factor::cpt(r, family),
    };
    let cpts = FAMILIES.map(|family| (family.chars().next().unwrap(), cpt(r, family)));
    let cpts = BTreeMap::from(cpts);
    let evidence = ["A", "D", "E"].map(|var| Factor::random(r, var));
    let joint = cpts.values().chain(&evidence);
    let joint = joint
        .cloned()
        .reduce(|product, factor| &product * &factor)
        .unwrap();
    let view = Jointree::new(FIGURE_3, "BC", "ADE").shrunk();
    [posterior(&view, &cpts, &evidence), joint.sum_out("ACDE")]
}

#[test]
fn figure_3_computes_the_posterior() {
    assert_holds(|r| figure_3(r, true));
}

#[test]
fn figure_3_needs_functional_cpts() {
    assert_fails(|r| figure_3(r, false));
}
