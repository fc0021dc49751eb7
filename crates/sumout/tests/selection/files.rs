//! Files of testing networks, and of their circuits: whole ones, and forged ones.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::Sight;
use sumout::tensor::TableId;
use sumout::{Batch, Circuit, Column, EvalOptions, Level, Options, Query};

use super::edges::{extreme, impossible_value};
use super::options;
use super::random::{Kind, random};

#[test]
fn networks_are_the_same_when_they_are_read_again() {
    for kind in Kind::ALL {
        for (seed, sight) in Sight::ALL.into_iter().enumerate() {
            let net = random(&mut ChaCha8Rng::seed_from_u64(seed as u64), kind, sight);
            let text =
                sumout::model::format::to_string(&net, sumout::Format::Json, Default::default())
                    .unwrap();
            let again =
                sumout::model::format::parse("again.json", text.as_bytes(), &Default::default())
                    .unwrap();
            assert_eq!(format!("{net:?}"), format!("{again:?}"));
            assert_eq!(net, again);
            let error =
                sumout::model::format::to_string(&net, sumout::Format::Bif, Default::default())
                    .unwrap_err();
            assert!(error.message().contains("selected by tests"), "{error}");
        }
    }
}

/// A circuit's file with another header, and maybe another number in a table.
fn with_header(
    bytes: &[u8],
    change: impl Fn(&mut serde_json::Value),
    number: Option<(&str, f64)>,
) -> Vec<u8> {
    let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let mut metadata = metadata.metadata().clone().unwrap();
    let mut header = serde_json::from_str(&metadata["sumout"]).unwrap();
    change(&mut header);
    metadata.insert("sumout".to_owned(), header.to_string());
    let owned = tensors.names().into_iter().map(|name| {
        let tensor = tensors.tensor(name).unwrap();
        let mut data = tensor.data().to_vec();
        if let Some((_, x)) = number.filter(|(table, _)| *table == name) {
            data[..8].copy_from_slice(&x.to_le_bytes());
        }
        (name, tensor.dtype(), tensor.shape().to_vec(), data)
    });
    let owned: Vec<_> = owned.collect();
    let views = owned.iter().map(|(name, dtype, shape, data)| {
        (
            name.to_string(),
            safetensors::tensor::TensorView::new(*dtype, shape.clone(), data).unwrap(),
        )
    });
    safetensors::serialize(views.collect::<Vec<_>>(), Some(metadata)).unwrap()
}

/// Files are checked as if a stranger had written them: rules, and what they are applied to, must
/// fit together.
#[test]
fn rules_in_files_fit_what_they_are_applied_to() {
    use serde_json::{Value, json};
    let net = random(
        &mut ChaCha8Rng::seed_from_u64(5),
        Kind::Sigmoid,
        Sight::Generalised,
    );
    let circuit = net
        .compile(&Query::all(), &options(Level::Classical, 0))
        .unwrap();
    let bytes = circuit.to_bytes().unwrap();
    assert!(Circuit::from_bytes(&with_header(&bytes, |_| (), None)).is_ok());
    let operations = |header: &Value| header["operations"].as_array().unwrap().clone();
    let select = |header: &Value| {
        operations(header)
            .iter()
            .position(|op| op.get("select").is_some())
            .unwrap()
    };
    let inputs = |header: &Value| {
        header["operations"][select(header)]["select"][0]
            .as_array()
            .unwrap()
            .clone()
    };
    let changes: [&dyn Fn(&mut Value); 11] = [
        &|h| h["rules"][0]["copies"] = json!(1),
        &|h| h["rules"][0]["copies"] = json!(5),
        &|h| h["rules"][0]["tested"] = json!(1000),
        &|h| h["rules"][0]["axis"] = json!(0),
        &|h| h["rules"][0]["by"] = json!("softmax"),
        &|h| h["rules"][0]["by"] = json!("linear"),
        &|h| {
            h["rules"]
                .as_array_mut()
                .unwrap()
                .push(json!({"tested": 0, "axis": 0, "copies": 2, "by": "linear"}))
        },
        &|h| h["axes"].as_array_mut().unwrap().push(json!(0)),
        &|h| h["aliases"] = json!([[h["visible"].clone(), 0]]),
        // The tested tensor is a table of the rule itself; and such a table is a tensor of the
        // circuit.
        &|h| {
            let (at, inputs) = (select(h), inputs(h));
            h["operations"][at]["select"][0][0] = inputs[1].clone();
        },
        &|h| {
            let (table, last) = (inputs(h)[1].clone(), operations(h).len() - 1);
            h["operations"][last] = json!({"project": [table, []]});
        },
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let error = Circuit::from_bytes(&with_header(&bytes, change, None)).unwrap_err();
        assert!(error.message().contains("not fit"), "{k}: {error}");
    }
    let gaps = format!(
        "table.{}",
        circuit.graph().rule_tables().next().unwrap().index()
    );
    let slope = format!(
        "table.{}",
        circuit.graph().rule_tables().nth(1).unwrap().index()
    );
    for (table, number) in [
        ("table.0", -0.5),
        (&*gaps, -0.5),
        (&*gaps, 2.0),
        (&*slope, 710.0),
        (&*slope, -800.0),
    ] {
        let error =
            Circuit::from_bytes(&with_header(&bytes, |_| (), Some((table, number)))).unwrap_err();
        assert!(
            error.message().contains("does not fit"),
            "{table} {number}: {error}"
        );
    }
}

/// A file with another number somewhere in its header, and the checksum that belongs to it.
fn mangled(bytes: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let header = metadata.metadata().as_ref().unwrap()["sumout"].clone();
    let from = header.find("\"target\"").unwrap();
    let is_digit = |at: &usize| {
        header.as_bytes()[*at].is_ascii_digit() && !header.as_bytes()[at - 1].is_ascii_digit()
    };
    let places: Vec<usize> = (from..header.len()).filter(is_digit).collect();
    let at = places[rng.random_range(0..places.len())];
    let end = at + header[at..].find(|c: char| !c.is_ascii_digit()).unwrap();
    let number = [0, 1, 2, 3, 5, 9, 20, 1_000_000][rng.random_range(0..8)];
    let changed = format!("{}{number}{}", &header[..at], &header[end..]);
    let start = changed.find("\"checksum\":").unwrap() + "\"checksum\":".len();
    let stop = start + changed[start..].find(',').unwrap();
    let zero = format!("{}0{}", &changed[..start], &changed[stop..]);
    let mut crc = flate2::Crc::new();
    crc.update(zero.as_bytes());
    for kind in ["table", "list", "map", "origin"] {
        let mut names: Vec<&str> = tensors
            .names()
            .into_iter()
            .filter(|name| name.starts_with(kind))
            .collect();
        names.sort_by_key(|name| name[kind.len() + 1..].parse::<usize>().unwrap());
        names
            .iter()
            .for_each(|name| crc.update(tensors.tensor(name).unwrap().data()));
    }
    let whole = format!("{}{}{}", &zero[..start], crc.sum(), &zero[start + 1..]);
    safetensors::serialize(
        tensors.tensors(),
        Some([("sumout".to_owned(), whole)].into()),
    )
    .unwrap()
}

/// Whoever writes a file can write its checksum: what is read can be run, whatever it then answers.
#[test]
fn forged_circuits_are_refused_or_run() {
    let mut read = 0;
    for (k, net) in [
        impossible_value(),
        extreme(&mut ChaCha8Rng::seed_from_u64(3), 2.0),
    ]
    .iter()
    .enumerate()
    {
        let query =
            Query::of(net.variable(sumout::internals::var(1 - k)).name.clone()).trainable(["*"]);
        let names = net
            .variables()
            .iter()
            .map(|v| v.name.clone())
            .filter(|name| *name != net.variable(sumout::internals::var(1 - k)).name);
        let circuit = net
            .compile(&query.given(names), &Options::default().with_effort(0.0))
            .unwrap();
        let bytes = circuit.to_bytes().unwrap();
        for seed in 0..400 {
            let Ok(circuit) =
                Circuit::from_bytes(&mangled(&bytes, &mut ChaCha8Rng::seed_from_u64(seed)))
            else {
                continue;
            };
            read += 1;
            for rows in [1, 6] {
                let mut given = Batch::new(rows);
                for input in circuit.inputs().collect::<Vec<_>>() {
                    given
                        .insert(&circuit, input, Column::Values(vec![0; rows]))
                        .unwrap();
                }
                circuit.evaluate(&given).unwrap();
                let tables: Vec<TableId> = circuit.graph().origins().keys().copied().collect();
                let ready = circuit
                    .differentiator(&tables, &[], &EvalOptions::default())
                    .unwrap();
                ready.run(&given, &|_, _, to| to.fill(0.1)).unwrap();
            }
        }
    }
    assert!(read > 20, "only {read} were read");
}
