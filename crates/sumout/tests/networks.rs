//! Real networks, with answers on which several independent tools agree.
//!
//! Those that may be copied are in `models/`. The others are read from the folder that
//! `SUMOUT_NETWORKS` names, or from `../shared/networks` beside the clone; where neither is there,
//! they are skipped.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::common::{close, is_sweep};
use serde_json::Value;
use sumout::compile::{self, Runs, Search};
use sumout::model::format::read_evidence;
use sumout::{ErrorKind, Evidence, Level, Network, Objective, Options, Query};

/// The memory limit of one answer.
const MEMORY: u64 = 8 << 30;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("SUMOUT_NETWORKS").map(PathBuf::from);
    Some(named.unwrap_or_else(|| root().join("../shared/networks"))).filter(|p| p.is_dir())
}

fn options() -> Options {
    Options::default().with_memory(Some(MEMORY))
}

fn unzip(path: &Path) -> String {
    let mut text = String::new();
    let file = fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// Compares all marginals and ln P(e) with an answer file.
fn check_answers(net: &Network, answers: &Value) {
    let mut evidence = Evidence::new();
    for (name, value) in answers["evidence"].as_object().unwrap() {
        evidence = evidence
            .observe(net, name, value.as_str().unwrap())
            .unwrap();
    }
    let name = &answers["network"];
    let Some(answer) = answer_unless_refused(net, &evidence) else {
        return;
    };
    let expected = answers["log_evidence"].as_f64().unwrap();
    assert!(
        close(answer.log_evidence(), expected, 1e-6),
        "{name}: {} not {expected}",
        answer.log_evidence()
    );
    let marginals = answers["marginals"].as_object();
    for (var, posterior) in marginals.into_iter().flatten() {
        check_posterior(net, &answer, var, posterior);
    }
    println!(
        "{name}: {} marginals, ln P(e) = {}",
        marginals.map_or(0, |m| m.len()),
        answer.log_evidence()
    );
    let Some(target) = answers["query"].as_str() else {
        return;
    };
    let one = net
        .query(&[net.find(target).unwrap()], &evidence, &options())
        .unwrap();
    assert!(
        close(one.log_evidence(), expected, 1e-6),
        "{name}: {} not {expected}",
        one.log_evidence()
    );
    check_posterior(net, &one, target, &answers["posterior"]);
}

fn check_posterior(net: &Network, answer: &sumout::Answer, var: &str, expected: &Value) {
    let id = net.find(var).unwrap();
    let (_, posterior) = answer.posteriors().iter().find(|(v, _)| *v == id).unwrap();
    for (value, p) in expected.as_object().unwrap() {
        let (got, p) = (
            posterior[net.value(id, value).unwrap()],
            p.as_f64().unwrap(),
        );
        assert!(
            (got - p).abs() <= 1e-6,
            "{} {var}={value}: {got} not {p}",
            net.name()
        );
    }
}

fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|p| p.to_string_lossy().ends_with(suffix))
        .collect();
    files.sort();
    files
}

fn skip(what: &str) {
    println!("skipped {what}: set SUMOUT_NETWORKS to the folder that holds them");
}

#[test]
fn models_in_the_project_have_the_agreed_answers() {
    let answers = files(&root().join("models"), ".answers.json.gz");
    assert!(
        answers.len() >= 8,
        "only {} answer files in models/",
        answers.len()
    );
    for path in answers {
        let answers: Value = serde_json::from_str(&unzip(&path)).unwrap();
        let name = answers["network"].as_str().unwrap();
        let is_model = |p: &&PathBuf| {
            let file = p.file_name().unwrap().to_string_lossy().into_owned();
            file.starts_with(&format!("{name}.")) && !file.contains(".answers.")
        };
        let all = files(&root().join("models"), "");
        check_answers(
            &Network::read(all.iter().find(is_model).unwrap()).unwrap(),
            &answers,
        );
    }
}

/// All marginals, with the evidence of the answer files promised in every example.
fn check_entries(model: &Path, answers: &Path, most: f64) {
    let answers: Value = serde_json::from_str(&unzip(answers)).unwrap();
    let evidence = answers["evidence"].as_object().unwrap().keys().cloned();
    let (net, query) = (Network::read(model).unwrap(), Query::all().hard(evidence));
    for level in [Level::Classical, Level::Functional] {
        let search = Search {
            level,
            objective: Objective::Time,
            seed: 0,
            effort: 1.0,
            runs: Runs::Many,
            control: Default::default(),
        };
        let planned = compile::plan(net.model(), &query.question(&net).unwrap(), &search).unwrap();
        let entries = planned.cost().entries;
        println!("{} {level}: {entries} entries", net.name());
        assert!(entries <= most, "{} {level}: {entries} entries", net.name());
    }
}

#[test]
fn circuits_for_all_marginals_of_large_networks_are_small() {
    let models = root().join("models");
    for (name, file, most) in [
        ("link", "link.bif.gz", 16e6),
        ("munin1", "munin1.bif.gz", 32e6),
        ("90-20-5", "90-20-5.uai.gz", 64e6),
    ] {
        if name != "link" && !is_sweep() {
            continue;
        }
        check_entries(
            &models.join(file),
            &models.join(format!("{name}.e10.answers.json.gz")),
            most,
        );
    }
    if let Some(folder) = shared().filter(|_| is_sweep()) {
        check_entries(
            &folder.join("uai/Promedus_11.uai.gz"),
            &folder.join("answers/Promedus_11.comp.json.gz"),
            64e6,
        );
    }
}

/// Networks with answer files whose marginals together are still refused.
const NOT_YET: [&str; 1] = ["BN_74"];

#[test]
fn shared_networks_have_the_agreed_answers() {
    let Some(folder) = shared() else {
        return skip("15 networks with answer files");
    };
    for path in files(&folder.join("answers"), ".json.gz") {
        let answers: Value = serde_json::from_str(&unzip(&path)).unwrap();
        let name = answers["network"].as_str().unwrap();
        if NOT_YET.contains(&name) && !is_sweep() {
            continue;
        }
        let places = [
            format!("bnlearn/{name}.bif.gz"),
            format!("uai/{name}.uai.gz"),
            format!("paper/{name}.bif.gz"),
        ];
        let model = places
            .iter()
            .map(|p| folder.join(p))
            .find(|p| p.exists())
            .unwrap();
        let net = Network::read(model).unwrap();
        check_answers(&net, &answers);
    }
}

/// Competition networks that are answered within seconds in a debug build; `./test --sweep` tries
/// all that are there.
const QUICK: [&str; 8] = [
    "Alchemy_11",
    "CSP_11",
    "DBN_11",
    "Grids_11",
    "ObjectDetection_11",
    "Pedigree_11",
    "Promedus_11",
    "Segmentation_11",
];

/// The answer, or nothing if it would not fit in memory, which only a sweep may meet.
fn answer_unless_refused(net: &Network, evidence: &Evidence) -> Option<sumout::Answer> {
    match net.query(&[], evidence, &options()) {
        Err(error) if is_sweep() && error.kind() == ErrorKind::Memory => {
            println!("{}: refused: {error}", net.name());
            None
        }
        answer => Some(answer.unwrap()),
    }
}

/// The UAI competition publishes log10 Z and marginals to six digits.
#[test]
fn shared_competition_networks_have_the_published_answers() {
    let Some(folder) = shared() else {
        return skip("8 competition networks");
    };
    for path in files(&folder.join("uai"), ".uai.PR.gz") {
        let stem = path.to_string_lossy().replace(".PR.gz", "");
        if !is_sweep()
            && !QUICK
                .iter()
                .any(|name| stem.ends_with(&format!("/{name}.uai")))
        {
            continue;
        }
        let net = Network::read(format!("{stem}.gz")).unwrap();
        let evidence = read_evidence(Path::new(&format!("{stem}.evid.gz")), &net).unwrap();
        let Some(answer) = answer_unless_refused(&net, &evidence) else {
            continue;
        };
        let published: f64 = unzip(&path)
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let log10 = answer.log_evidence() / std::f64::consts::LN_10;
        assert!(
            close(log10, published, 1e-5),
            "{stem}: {log10} not {published}"
        );
        let marginals = PathBuf::from(format!("{stem}.MAR.gz"));
        if !marginals.exists() {
            continue;
        }
        let text = unzip(&marginals);
        let mut numbers = text
            .split_whitespace()
            .skip(1)
            .map(|w| w.parse::<f64>().unwrap());
        assert_eq!(numbers.next(), Some(net.variables().len() as f64));
        for i in 0..net.variables().len() {
            let id = net.find(&format!("x{i}")).unwrap();
            let (_, posterior) = answer.posteriors().iter().find(|(v, _)| *v == id).unwrap();
            assert_eq!(numbers.next(), Some(posterior.len() as f64));
            for p in posterior {
                let expected = numbers.next().unwrap();
                assert!(
                    (p - expected).abs() < 2e-4,
                    "{stem} x{i}: {p} not {expected}"
                );
            }
        }
        println!("{}: log10 Z = {log10}", net.name());
    }
}
