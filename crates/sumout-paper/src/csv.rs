//! All numbers of tables, a line each: ours, and the paper's of the same name.

use std::io::{self, Write};

use serde_json::Value;

use crate::grid::{Table, label};

/// Writes the table, the row, the name of a number, ours, and the paper's.
pub fn write(tables: &[Table], out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["table", "row", "quantity", "ours", "paper"])?;
    for table in tables {
        for row in &table.rows {
            let name = match row.get("batch") {
                Some(batch) => format!("{}/{batch}", text(&row["row"])),
                None => text(&row["row"]),
            };
            for (quantity, ours, paper) in numbers(row) {
                writer.write_record([&label(table.number), &name, &quantity, &ours, &paper])?;
            }
        }
    }
    writer.flush()
}

/// The numbers of a row: their names, ours, and the paper's; those that only the paper has come
/// last.
fn numbers(row: &Value) -> Vec<(String, String, String)> {
    let mut all = vec![];
    collect(row, "", &mut all);
    let (mut paper, ours): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(name, _)| name.contains("paper."));
    paper
        .iter_mut()
        .for_each(|(name, _)| *name = name.replacen("paper.", "", 1));
    let of_paper = |name: &str| {
        paper
            .iter()
            .find(|(other, _)| other == name)
            .map_or(String::new(), |(_, x)| x.clone())
    };
    let mut lines: Vec<_> = ours
        .iter()
        .map(|(name, x)| (name.clone(), x.clone(), of_paper(name)))
        .collect();
    let is_alone = |name: &String| !ours.iter().any(|(other, _)| other == name);
    lines.extend(
        paper
            .iter()
            .filter(|(name, _)| is_alone(name))
            .map(|(name, x)| (name.clone(), String::new(), x.clone())),
    );
    lines
}

/// Numbers by their names, such as `entries.support`; numbers of training examples are part of the
/// name.
fn collect(value: &Value, name: &str, to: &mut Vec<(String, String)>) {
    let inner = |key: &str| {
        if name.is_empty() {
            key.to_owned()
        } else {
            format!("{name}.{key}")
        }
    };
    match value {
        Value::Number(number) => to.push((name.to_owned(), number.to_string())),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| collect(value, &inner(key), to)),
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                let key = value
                    .get("examples")
                    .map_or(at.to_string(), ToString::to_string);
                collect(value, &inner(&key), to);
            }
        }
        Value::String(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_numbers_stand_beside_the_papers_of_the_same_name() {
        let row = json!({
            "row": "a", "nodes": 5, "entries": {"ours": 7},
            "accuracies": [{"examples": 25, "mean": 90.5, "paper": {"mean": 80}}],
            "paper": {"nodes": 6, "entries": 9},
        });
        let lines: Vec<String> = numbers(&row)
            .into_iter()
            .map(|(a, b, c)| format!("{a} {b} {c}"))
            .collect();
        assert_eq!(
            lines,
            [
                "nodes 5 6",
                "entries.ours 7 ",
                "accuracies.25.examples 25 ",
                "accuracies.25.mean 90.5 80",
                "entries  9"
            ]
        );
    }
}
