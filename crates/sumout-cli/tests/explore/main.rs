//! `sumout explore` as a server: what is answered, and who is refused.

#[path = "../common/mod.rs"]
mod common;
mod limits;
mod requests;
mod server;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use server::{Server, assert_same, cli};

#[test]
fn answers_are_those_of_the_command_line() {
    let server = Server::start("asia");
    let (status, ours) = server.post(
        "api/models/asia/query",
        r#"{"given": {"dysp": "yes"}, "soft": {"xray": [0.8, 0.2]}}"#,
    );
    let theirs = cli(&[
        "query",
        "asia",
        "--given",
        "dysp=yes",
        "--soft",
        "xray=0.8,0.2",
    ]);
    assert_eq!(status, 200);
    assert_same(&ours, &theirs);
    assert!(
        (ours["log_evidence"].as_f64().unwrap() - theirs["log_evidence"].as_f64().unwrap()).abs()
            < 1e-12
    );
    assert_same(
        &server.post("api/models/asia/query", "").1,
        &cli(&["query", "asia"]),
    );
    let (_, impossible) = server.post(
        "api/models/asia/query",
        r#"{"given": {"either": "no", "lung": "yes"}}"#,
    );
    assert_eq!(impossible["impossible"], true);
    let (_, mpe) = server.post("api/models/asia/mpe", r#"{"given": {"xray": "yes"}}"#);
    assert_eq!(mpe, cli(&["mpe", "asia", "--given", "xray=yes"]));
    let (_, plan) = server.post(
        "api/models/asia/plan",
        r#"{"target": "lung", "given": ["xray", "d*"]}"#,
    );
    let theirs = cli(&[
        "compile", "asia", "lung", "--given", "xray", "d*", "--effort", "0.1",
    ]);
    assert_eq!(plan["report"]["entries"], theirs["report"]["entries"]);
    let nodes = plan["tree"]["nodes"].as_array().unwrap();
    let largest = nodes
        .iter()
        .map(|node| node["cluster"].as_f64().unwrap())
        .fold(0.0, f64::max);
    assert_eq!(
        largest.log2(),
        theirs["report"]["max_cluster_binary_rank"]
            .as_f64()
            .unwrap()
    );
}

/// Networks of all kinds, with functions, with zeros and without names, and a Markov network; hard
/// and soft evidence.
#[test]
fn a_warm_circuit_answers_as_a_cold_one() {
    let server = Server::start("asia");
    for (seed, name) in [
        "random:40,3,60,5",
        "rect:6",
        "digits:7,noise=0.2",
        "rect:5,trainable",
        "random:60,3,0,9",
    ]
    .iter()
    .enumerate()
    {
        let (status, model) = server.post(&format!("api/models?name={name}"), "");
        assert_eq!((status, &model["id"]), (200, &json!(name)));
        let (_, _, case) = server.get(&format!("api/models/{name}/sample?seed={seed}"));
        let case = case["assignment"].as_object().unwrap();
        let given: Vec<(&String, &Value)> = case.iter().skip(seed).step_by(7).collect();
        let typed: Vec<String> = given
            .iter()
            .map(|(x, v)| format!("{x}={}", v.as_str().unwrap()))
            .collect();
        let soft = model["variables"].as_array().unwrap().last().unwrap();
        let (last, card) = (
            soft["name"].as_str().unwrap(),
            soft["values"].as_array().unwrap().len(),
        );
        let given: serde_json::Map<String, Value> = given
            .into_iter()
            .filter(|(x, _)| *x != last)
            .map(|(x, v)| (x.clone(), v.clone()))
            .collect();
        let numbers: Vec<f64> = (0..card).map(|k| 1.0 / (k + 1) as f64).collect();
        let body = json!({"given": given, "soft": {last: numbers}}).to_string();
        let (status, ours) = server.post(&format!("api/models/{name}/query"), body);
        assert_eq!(status, 200, "{ours}");
        let soft = format!(
            "{last}={}",
            numbers
                .iter()
                .map(f64::to_string)
                .collect::<Vec<_>>()
                .join(",")
        );
        let typed: Vec<&str> = typed
            .iter()
            .map(String::as_str)
            .filter(|t| !t.starts_with(&format!("{last}=")))
            .collect();
        assert_same(
            &ours,
            &cli(&[&["query", name, "--soft", &soft, "--given"][..], &typed].concat()),
        );
    }
}

#[test]
fn a_broken_file_gets_the_words_of_the_command_line() {
    let server = Server::start("asia");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/bad-models");
    for name in [
        "row-sum.bif",
        "cycle.json",
        "mismatched-tag.xdsl",
        "row-sum.bif.gz",
        "second-child.net",
        "empty.uai",
    ] {
        let bytes = fs::read(format!("{folder}/{name}")).unwrap();
        let (status, answer) = server.post(&format!("api/models?name={name}"), bytes);
        let said = Command::new(env!("CARGO_BIN_EXE_sumout"))
            .args(["show", name])
            .current_dir(folder)
            .output()
            .unwrap();
        assert_eq!(status, 422, "{name}");
        assert_eq!(
            answer["error"]["text"].as_str().unwrap(),
            String::from_utf8(said.stderr).unwrap().trim_end(),
            "{name}"
        );
    }
    assert!(server.works());
}

/// Every line with `curl` in the documentation is sent as it stands.
#[test]
fn what_is_documented_with_curl_works() {
    let server = Server::start("asia");
    let page = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/explorer.md"
    ))
    .unwrap();
    let model = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/good-models/sprinkler.bif"
    ))
    .unwrap();
    let lines: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("curl "))
        .collect();
    for &line in &lines {
        let (url, rest) = line.split_once(' ').unwrap_or((line, ""));
        let path = url.trim_matches('"').strip_prefix("$API").unwrap();
        let (status, answer) = match rest.split_once(' ') {
            None => {
                let (status, _, answer) = server.get(&format!("api{path}"));
                (status, answer)
            }
            Some(("--data-binary", "@model.bif")) => server.post(&format!("api{path}"), &model),
            Some((_, body)) => server.post(&format!("api{path}"), body.trim_matches('\'')),
        };
        assert!(
            status == 200 && answer.is_object(),
            "{line}: {status} {answer}"
        );
    }
    assert!(lines.len() >= 8, "each address has an example");
}

/// The line that the page shows must name the model as a shell and as Python take it.
#[test]
fn models_say_how_others_read_them() {
    let server = Server::start("asia");
    let said = |name: &str, body: &[u8]| {
        let (_, model) = server.post(&format!("api/models?name={name}"), body);
        [&model["command"], &model["python"]]
            .map(|text| text.as_str().unwrap_or_default().to_owned())
    };
    let bif = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/good-models/sprinkler.bif"
    ))
    .unwrap();
    assert_eq!(said("rect:8", b""), ["rect:8", r#"sumout.read("rect:8")"#]);
    assert_eq!(
        said("it%27s%20mine.bif", &bif),
        [r"'it'\''s mine.bif'", r#"sumout.read("it's mine.bif")"#]
    );
    assert_eq!(
        said("-x.bif", &bif),
        ["./-x.bif", r#"sumout.read("-x.bif")"#]
    );
}

#[test]
fn tables_are_shown_changed_and_saved() {
    let server = Server::start("asia");
    let (_, _, table) = server.get("api/models/asia/table?variable=dysp");
    assert_eq!(table["parents"], json!(["bronc", "either"]));
    assert_eq!(
        table["rows"],
        json!([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]])
    );
    let (status, model) = server.post(
        "api/models/asia/tables",
        r#"{"tables": {"smoke": [0.3, 0.7]}}"#,
    );
    assert_eq!(status, 200);
    let id = model["id"].as_str().unwrap();
    let (_, _, file) = server.get(&format!("api/models/{id}/file"));
    let path = std::env::temp_dir().join(format!("sumout-changed-{}.json", std::process::id()));
    fs::write(&path, file.to_string()).unwrap();
    let theirs = cli(&["query", path.to_str().unwrap(), "--given", "xray=yes"]);
    fs::remove_file(&path).unwrap();
    let question = r#"{"given": {"xray": "yes"}}"#;
    let (_, ours) = server.post(&format!("api/models/{id}/query"), question);
    assert_same(&ours, &theirs);
    let (_, before) = server.post("api/models/asia/query", question);
    assert_ne!(before["posteriors"], ours["posteriors"]);
}

#[test]
fn tables_that_are_no_distributions_are_refused() {
    let server = Server::start("asia");
    for (tables, expected) in [
        (r#"{"smoke": [0.3, 0.8]}"#, "row 1 of the CPT of `smoke`"),
        (r#"{"smoke": [1.5, -0.5]}"#, "row 1 of the CPT of `smoke`"),
        (r#"{"smoke": [0.3]}"#, "has 2 numbers, found 1"),
        (r#"{"smok": [0.3, 0.7]}"#, "smok"),
    ] {
        let body = format!(r#"{{"tables": {tables}}}"#);
        let (status, answer) = server.post("api/models/asia/tables", body);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(status == 422 && message.contains(expected), "{message}");
    }
    let (status, _, _) = server.get("api/models/asia/table");
    assert_eq!(status, 400);
}

#[test]
fn a_conflict_has_no_finding_that_could_be_left_out() {
    let server = Server::start("asia");
    let body = r#"{"given": {"either": "no", "lung": "yes", "xray": "yes"}}"#;
    let (_, answer) = server.post("api/models/asia/conflict", body);
    assert_eq!(answer["conflict"], json!(["lung", "either"]));
}

#[test]
fn rows_are_rescaled_if_that_is_asked_for() {
    let server = Server::start("asia");
    let asia = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/asia.bif"
    ))
    .unwrap();
    let bif = asia.replace("table 0.5, 0.5;", "table 5, 5;");
    let (status, answer) = server.post("api/models?name=counts.bif", bif.as_bytes());
    assert_eq!(status, 422);
    assert_eq!(answer["error"]["actions"], json!([{"do": "normalize"}]));
    let (status, model) = server.post("api/models?name=counts.bif&normalize=true", bif.as_bytes());
    assert_eq!(status, 200);
    assert_eq!(model["command"], "counts.bif --normalize");
}
