//! Rows whose numbers are rounded are rescaled, with a note; all others stay what they are, or are refused.

use sumout::model::format::{Loss, ReadOptions, parse, to_string};
use sumout::{Format, Network, Result};

/// A network of a root and a child with two rows, of which the second is given.
fn network(format: Format, row: &str) -> Result<Network> {
    let text = match format {
        Format::Net => format!(
            "net {{}} node a {{ states = (\"y\" \"n\"); }} node b {{ states = (\"p\" \"q\" \"r\"); }}
             potential (a) {{ data = (0.5 0.5); }} potential (b | a) {{ data = ((1 0 0)({row})); }}"
        ),
        _ => format!("BAYES 2 2 3 2 1 0 2 0 1 2 0.5 0.5 6 1 0 0 {row}"),
    };
    parse(
        "n",
        text.as_bytes(),
        &ReadOptions::default().with_format(format),
    )
}

fn table(net: &Network) -> Vec<f64> {
    net.cpts()[1].table(&net.cards())
}

#[test]
fn rounding_is_mended_and_noted() -> Result<()> {
    // The row, and the difference that the note has.
    let rounded = [
        ("0.333333 0.333333 0.333333", "1e-6"),
        ("0.33 0.33 0.33", "1e-2"),
        ("0.166666 0.166667 0.666668", "1e-6"),
        ("0.98 0.01 0.01004", "4e-5"),
        ("0.5 0.499 0.0", "1e-3"),
        ("3.33e-1 3.33e-1 3.33E-1", "1e-3"),
    ];
    for (row, most) in rounded {
        for format in [Format::Uai, Format::Net] {
            let net = network(format, row)?;
            let note =
                format!("rescaled 1 row of rounded numbers: sums were off by at most {most}");
            assert_eq!(net.notes(), [note], "{row}");
            let given: Vec<f64> = row.split(' ').map(|x| x.parse().unwrap()).collect();
            let sum: f64 = given.iter().sum();
            let expected: Vec<f64> = given.iter().map(|x| x / sum).collect();
            assert_eq!(table(&net)[3..], expected);
            assert_eq!(table(&net)[..3], [1.0, 0.0, 0.0]);
        }
    }
    Ok(())
}

#[test]
fn a_network_that_was_rescaled_is_written_and_read_exactly() -> Result<()> {
    let net = network(Format::Uai, "0.333333 0.333333 0.333333")?;
    for format in [
        Format::Uai,
        Format::Net,
        Format::Bif,
        Format::Xmlbif,
        Format::Xdsl,
        Format::Json,
    ] {
        let text = to_string(&net, format, Loss::Accept)?;
        let back = parse(
            "n",
            text.as_bytes(),
            &ReadOptions::default().with_format(format),
        )?;
        assert!(back.notes().is_empty(), "{format:?}");
        assert_eq!(back.cpts(), net.cpts(), "{format:?}");
    }
    Ok(())
}

#[test]
fn a_function_with_a_rounded_one_becomes_exact() -> Result<()> {
    let net = network(Format::Net, "0 0.99999 0")?;
    assert!(net.cpts()[1].is_functional());
    assert_eq!(net.notes().len(), 1);
    Ok(())
}

#[test]
fn rows_that_nobody_rounded_stay_as_they_are() -> Result<()> {
    for row in ["0.5 0.25 0.25", "0.3333333 0.3333333 0.3333333", "1 0 0"] {
        let net = network(Format::Uai, row)?;
        let given: Vec<f64> = row.split(' ').map(|x| x.parse().unwrap()).collect();
        assert_eq!(table(&net)[3..], given);
        assert!(net.notes().is_empty());
    }
    Ok(())
}

#[test]
fn larger_differences_are_refused_and_only_counts_are_to_be_rescaled() {
    let advice = |format, row| network(format, row).unwrap_err().advice().unwrap();
    assert_eq!(advice(Format::Uai, "0.2 0.7 0"), "add the missing 0.1");
    assert_eq!(advice(Format::Uai, "0.25 0.5 0.2"), "add the missing 0.05");
    assert_eq!(advice(Format::Uai, "0.6 0.3 0.3"), "correct the row");
    let counts = "correct the row, or set `normalize` to rescale rows";
    assert_eq!(advice(Format::Uai, "10 90 0"), counts);
    assert_eq!(advice(Format::Net, "0.6 0.3 0.3"), counts);
    assert_eq!(advice(Format::Net, "0 0 0"), "give it a positive number");
}

#[test]
fn rescaling_on_demand_needs_no_note() -> Result<()> {
    let text = "BAYES 1 2 1 1 0 2 3 1.001";
    let options = ReadOptions::default()
        .with_format(Format::Uai)
        .with_normalize(true);
    assert!(parse("n", text.as_bytes(), &options)?.notes().is_empty());
    Ok(())
}
