//! Properties of every file format, on all available networks.
//!
//! Two laws. A network written without loss reads back equal; one that a format cannot represent is refused.
//! And what is written with loss reads back with the same numbers.

mod files;

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{is_sweep, seeds};
use sumout::compile::plan::saved::SavedPlan;
use sumout::model::format::{Loss, ReadOptions, parse, to_string};
use sumout::model::random::{self, Shape};
use sumout::model::{Body, Node, Role};
use sumout::{Builder, ErrorKind, Format, Network, Result};

/// Larger published files than this are read in sweeps alone.
const MAX_SMALL: u64 = 100 << 10;

/// Formats that carry any names that these tests call ordinary, and everything else but roles.
const NAMED: [Format; 3] = [Format::Bif, Format::Xmlbif, Format::Json];

fn parse_as(format: Format, text: &str) -> Result<Network> {
    parse(
        "net",
        text.as_bytes(),
        &ReadOptions::default().with_format(format),
    )
}

/// Whether a network is what was written, as far as the format has words for it. UAI does not name
/// networks.
fn same(format: Format, back: &Network, net: &Network) -> bool {
    let is_called_the_same = format == Format::Uai || back.name() == net.name();
    let is_of_a_kind = back.is_markov() == net.is_markov() && back.variables() == net.variables();
    is_called_the_same && is_of_a_kind && back.cpts() == net.cpts()
}

/// Whether two networks have the same shape and the same numbers, bit by bit.
fn same_numbers(a: &Network, b: &Network) -> bool {
    let cpts = a.cpts().iter().zip(b.cpts());
    a.is_markov() == b.is_markov()
        && a.cards() == b.cards()
        && a.cpts().len() == b.cpts().len()
        && cpts
            .into_iter()
            .all(|(a, b)| a.scope() == b.scope() && a.body() == b.body())
}

/// The first law: reads back equal (true), or is refused (false).
fn carries(net: &Network, format: Format) -> bool {
    match to_string(net, format, Loss::Refuse) {
        Ok(text) => {
            let back = parse_as(format, &text)
                .unwrap_or_else(|e| panic!("{format:?}: {e}\n{net:?}\n{text}"));
            assert!(
                same(format, &back, net),
                "{format:?}:\n{net:?}\n{back:?}\n{text}"
            );
            true
        }
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Format, "{format:?}: {e}\n{net:?}");
            assert!(e.advice().is_some(), "{format:?}: {e}");
            false
        }
    }
}

/// The second law: reads back with the same numbers (true), or is refused (false).
fn keeps_numbers(net: &Network, format: Format) -> bool {
    match to_string(net, format, Loss::Accept) {
        Ok(text) => {
            let back = parse_as(format, &text)
                .unwrap_or_else(|e| panic!("{format:?}: {e}\n{}", net.name()));
            assert!(same_numbers(&back, net), "{format:?}: {}", net.name());
            true
        }
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Format, "{format:?}: {e}");
            false
        }
    }
}

/// Both laws for a network with ordinary names: nothing is refused that need not be.
fn check(net: &Network) {
    let has_roles = net.cpts().iter().any(|cpt| *cpt.role() != Role::default());
    for format in Format::ALL {
        let can = match format {
            Format::Json => true,
            Format::Uai => !net.has_selections(),
            _ => !net.has_selections() && !net.is_markov(),
        };
        let must = format == Format::Json || can && !has_roles && NAMED.contains(&format);
        let is_carried = carries(net, format);
        assert!(
            is_carried || !must,
            "{format:?} does not carry {}",
            net.name()
        );
        assert!(
            !is_carried || can,
            "{format:?} has no words for {}",
            net.name()
        );
        assert_eq!(
            keeps_numbers(net, format),
            can,
            "{format:?}: {}",
            net.name()
        );
    }
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("a file").path());
    let mut files: Vec<PathBuf> = entries
        .filter(|p| p.is_file() && p.to_string_lossy().ends_with(ending))
        .collect();
    files.sort();
    files
}

#[test]
fn the_models_round_trip() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let models: Vec<PathBuf> = files(&folder, "")
        .into_iter()
        .filter(|p| Format::of_path(p).is_some())
        .collect();
    assert!(!models.is_empty());
    for path in models {
        if !path.to_string_lossy().contains(".answers.") {
            check(&Network::read(path)?);
        }
    }
    Ok(())
}

fn random_network(seed: u64) -> Result<Network> {
    let shape = Shape {
        nodes: 1 + seed as usize % 14,
        max_values: 2 + seed as usize % 5,
        max_parents: seed as usize % 4,
        functional: (seed % 5) as f64 / 4.0,
    };
    random::network(&shape, seed)
}

/// The same variables in another builder.
fn variables(b: &mut Builder, net: &Network) -> Vec<Node> {
    net.variables()
        .iter()
        .map(|v| b.variable(&v.name, &v.values))
        .collect()
}

/// The network with a role for every other CPT.
fn with_roles(net: &Network, seed: usize) -> Result<Network> {
    let mut b = Network::builder(net.name());
    let nodes = variables(&mut b, net);
    for (i, cpt) in net.cpts().iter().enumerate() {
        let parents = cpt.parents().iter().map(|p| nodes[p.index()]);
        let draft = match cpt.body() {
            Body::Table(table) => b.table(nodes[i], parents, table.clone()),
            Body::Function(values) => b.mapping(nodes[i], parents, values.clone()),
            Body::Selected(_) => unreachable!("nothing is tested here"),
        };
        let bit = |k: usize| (seed + i) >> k & 1 == 1;
        let tie = bit(2).then(|| format!("tie {i}"));
        draft.role(Role {
            functional: bit(0),
            fixed: bit(1),
            keep_zeros: bit(3),
            tie,
        });
    }
    b.build()
}

/// A Markov network over the families of a Bayesian one.
fn as_markov(net: &Network) -> Result<Network> {
    let cards = net.cards();
    let mut b = Network::markov(net.name());
    let nodes = variables(&mut b, net);
    for cpt in net.cpts() {
        let table: Vec<f64> = cpt.table(&cards).into_iter().map(|p| 7.0 * p).collect();
        b.potential(cpt.scope().iter().map(|v| nodes[v.index()]), table);
    }
    b.build()
}

#[test]
fn random_networks_round_trip() -> Result<()> {
    for seed in seeds(60) {
        let net = random_network(seed)?;
        check(&net);
        check(&as_markov(&net)?);
        check(&with_roles(&net, seed as usize)?);
    }
    Ok(())
}

/// A constant, a factor given twice, and a variable in no factor.
#[test]
fn odd_markov_networks_are_carried_or_refused() -> Result<()> {
    let mut b = Network::markov("odd");
    let (x, y) = (
        b.variable("x", ["a", "b"]),
        b.variable("y", ["a", "b", "c"]),
    );
    b.variable("z", ["only"]);
    b.potential([y, x], [1.0, 2.0, 0.0, 4.0, 1e300, 1e-300]);
    b.potential([x], [0.0, 1.0]);
    b.potential([x], [0.0, 1.0]);
    b.potential([], [0.25]);
    check(&b.build()?);
    check(&Network::markov("none").build()?);
    check(&Network::builder("none").build()?);
    Ok(())
}

/// Names that some format or other has trouble with.
#[rustfmt::skip]
const ODD_NAMES: &[&str] = &[
    "", "unknown", " ", "  two  spaces ", "a b", "\"", "say \"hi\"", "it's", "<&>", "]]>", "-->", "&amp;", "&#0;",
    "ünï→コード", "\u{1f600}", "\u{202e}rtl", "\u{feff}", "e\u{301}", "\u{a0}", "\u{2028}", "\\", "\\n", "a\\", "tab\there",
    "line\nbreak", "\r\n", "\u{1}", "\0", "\0x", "\u{fffe}", "\u{7f}", "//", "/* a", "% a", "a//b", "a,b", "a;b",
    "a|b", "(a)", "{a}", "[a]", "a=b", "0", "1.5", "-1", "1e5", "nan", "inf", "true", "null", "a_b", "A_B", "x0", "s0",
    "default", "table", "property", "network", "probability", "variable", "node", "net", "potential", "data", "states",
    "type", "discrete", "BAYES", "cpt", "class", "é", "__", "_", ".", "a.b", "a-b", "#", "$",
];

/// A network with an odd name in a chosen place, among names that a careless change could make it
/// equal to.
fn odd_network(place: usize, odd: &str) -> Result<Network> {
    let name = |at: usize, ordinary: &str| {
        if at == place {
            odd.to_owned()
        } else {
            ordinary.to_owned()
        }
    };
    let mut b = Network::builder(name(0, "net1"));
    let like = if odd == "a_b" { "a__b" } else { "a_b" };
    let first = b.variable(name(1, "first"), [name(2, "yes"), like.to_owned()]);
    let second = b.variable(like, ["low".to_owned(), name(3, "mid"), "high".to_owned()]);
    b.table(first, [], [0.25, 0.75]);
    b.table(second, [first], [0.1, 0.2, 0.7, 0.5, 0.5, 0.0]);
    b.build()
}

#[test]
fn odd_names_are_carried_or_refused() -> Result<()> {
    let long = ["long".repeat(5000), "ü b".repeat(1000)];
    for odd in ODD_NAMES
        .iter()
        .copied()
        .chain(long.iter().map(String::as_str))
    {
        for net in (0..4)
            .map(|place| odd_network(place, odd))
            .collect::<Result<Vec<_>>>()?
        {
            for format in Format::ALL {
                let is_carried = carries(&net, format);
                assert!(
                    is_carried || format != Format::Json,
                    "JSON carries every name: {odd:?}"
                );
                assert!(keeps_numbers(&net, format), "{format:?}: {odd:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn ordinary_names_are_carried_by_all_formats_with_names() -> Result<()> {
    for name in ["rain", "a1", "Wet_grass", "x_1_2"] {
        for place in 0..4 {
            let net = odd_network(place, name)?;
            for format in Format::ALL.into_iter().filter(|&f| f != Format::Uai) {
                assert!(carries(&net, format), "{format:?} refuses `{name}`");
            }
        }
    }
    Ok(())
}

#[test]
fn numbers_come_back_bit_by_bit() -> Result<()> {
    let odd = [
        1e-300,
        0.1 + 0.2,
        5e-324,
        1.0 / 3.0,
        f64::MIN_POSITIVE,
        f64::EPSILON,
    ];
    let rest = 1.0 - odd.iter().sum::<f64>();
    let row: Vec<f64> = odd.into_iter().chain([rest]).collect();
    let mut b = Network::builder("exact");
    let x = b.variable("x0", (0..row.len()).map(|v| format!("s{v}")));
    b.table(x, [], row.clone());
    let net = b.build()?;
    for format in Format::ALL {
        let back = parse_as(format, &to_string(&net, format, Loss::Accept)?)?;
        let found = back.cpts()[0].table(&back.cards());
        assert!(
            found
                .iter()
                .zip(&row)
                .all(|(a, b)| a.to_bits() == b.to_bits()),
            "{format:?}: {found:?}"
        );
    }
    Ok(())
}

#[test]
fn the_format_is_told_from_the_content() -> Result<()> {
    let net = random_network(11)?;
    for format in Format::ALL {
        let text = format!("\n{}", to_string(&net, format, Loss::Accept)?);
        let text = if text.starts_with("\n<?xml") {
            &text[1..]
        } else {
            &text
        };
        let found = parse("net", text.as_bytes(), &ReadOptions::default())?;
        assert!(same_numbers(&found, &net), "{format:?}");
    }
    for text in ["", " \n", "hello", "\u{feff}", "0.5 0.5", "<html></html>"] {
        let error = parse("net", text.as_bytes(), &ReadOptions::default()).expect_err("no format");
        assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    }
    Ok(())
}

/// The examples of the JSON format are as sumout writes them, and the error is the one that it
/// gives.
#[test]
fn the_documentation_is_true() -> Result<()> {
    let page = include_str!("../../../../docs/formats.md");
    let examples: Vec<&str> = page
        .split("```json\n")
        .skip(1)
        .filter_map(|part| part.split("```").next())
        .collect();
    let (plans, networks): (Vec<&str>, Vec<&str>) = examples
        .iter()
        .partition(|text| text.contains("sumout_plan"));
    for plan in plans {
        SavedPlan::parse("plan.json", plan)?;
    }
    for example in &networks {
        assert_eq!(
            to_string(
                &parse_as(Format::Json, example)?,
                Format::Json,
                Loss::Refuse
            )?,
            *example
        );
    }
    let broken = examples[0].replace("[\"rain\", \"sprinkler\"]", "[\"rian\", \"sprinkler\"]");
    let error =
        parse("garden.json", broken.as_bytes(), &ReadOptions::default()).expect_err("misspelt");
    assert!(
        page.contains(&error.render(false)),
        "{}",
        error.render(false)
    );
    Ok(())
}

/// Published networks, from a folder that is not part of the project.
fn published() -> Vec<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/networks");
    let folder = std::env::var_os("SUMOUT_NETWORKS").map_or_else(beside, PathBuf::from);
    let mut found = files(&folder.join("bnlearn"), ".bif.gz");
    found.extend(files(&folder.join("uai"), ".uai.gz"));
    let is_small = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() < MAX_SMALL);
    found.retain(|path| is_sweep() || is_small(path));
    found
}

/// Two threads, because the machines that check this have at least two.
#[test]
fn published_networks_keep_their_numbers() {
    let networks = published();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        while let Some(path) = networks.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        {
            published_network(path);
        }
    };
    std::thread::scope(|scope| {
        [scope.spawn(work), scope.spawn(work)].map(|thread| thread.join().expect("no panic"))
    });
    println!(
        "{} published networks read, {} formats each",
        networks.len(),
        Format::ALL.len()
    );
    if networks.is_empty() {
        println!(
            "skipped all: set SUMOUT_NETWORKS to a folder with `bnlearn/*.bif.gz` and `uai/*.uai.gz`"
        );
    }
}

fn published_network(path: &Path) {
    let net = Network::read(path).unwrap_or_else(|e| panic!("{e}"));
    for format in Format::ALL {
        let can = match format {
            Format::Json => true,
            Format::Uai => !net.has_selections(),
            _ => !net.has_selections() && !net.is_markov(),
        };
        assert_eq!(
            keeps_numbers(&net, format),
            can,
            "{format:?}: {}",
            path.display()
        );
        if NAMED.contains(&format) && can {
            assert!(carries(&net, format), "{format:?}: {}", path.display());
        }
    }
}
