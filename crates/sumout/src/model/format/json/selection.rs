//! Selected CPTs: `copies`, each with numbers and a role of its own, and a `test` that selects among
//! them.

use std::fmt::Write;

use crate::error::{Result, many, shown};
use crate::model::format::json::text::{Object, Value};
use crate::model::format::json::write::{names, roles, rows};
use crate::model::format::json::{
    CptMarks, Entries, Reader, constraint, entries, only_one, role, table, words,
};
use crate::model::format::source::Span;
use crate::model::{
    Builder, Comparison, CptDraft, Network, Node, Role, SelectedCpt, Selection, SelectionKind,
    Sight,
};
use crate::vars::VarId;

const COPY: [&str; 7] = [
    "table",
    "function",
    "constraint",
    "functional",
    "fixed",
    "keep_zeros",
    "tie",
];
const TEST: [&str; 10] = [
    "select",
    "thresholds",
    "compare",
    "slope",
    "learn_slope",
    "of",
    "weights",
    "biases",
    "fixed",
    "tie",
];

/// The fields of a test that selects so; all of them if there is none that does.
fn fields(select: Option<&str>) -> Vec<&'static str> {
    let own = match select {
        None | Some("step") => &["thresholds", "compare"][..],
        Some("sigmoid") => &["thresholds", "slope", "learn_slope"],
        Some("linear") => &[],
        Some("softmax") => &["of", "weights", "biases"],
        Some(_) => &TEST,
    };
    ["select", "fixed", "tie"]
        .iter()
        .chain(own)
        .copied()
        .collect()
}

/// The slope of a sigmoid that none is given for.
const SLOPE: f64 = 12.0;

/// Which evidence selections see.
pub(super) fn sight(file: &Object<'_>) -> Result<Sight> {
    let Some(value) = file.get("sight") else {
        return Ok(Sight::default());
    };
    let name = value.string("the name of a rule for evidence")?;
    let found = Sight::ALL.into_iter().find(|sight| sight.name() == name);
    found.ok_or_else(|| {
        let error = value.error(format!("unknown rule for evidence `{}`", shown(&name)));
        error.hint("rules are `generalised`, `ancestral` and `predecessor`")
    })
}

impl<'a> Reader<'a> {
    /// Tells the builder a selected CPT.
    pub(super) fn selected(
        &self,
        cpt: &Object<'a>,
        scope: &[usize],
        to: &mut Builder,
    ) -> Result<CptMarks> {
        let test = cpt
            .need("test", "this CPT with copies")?
            .object("`{` to begin a test")?;
        if cpt.get("copies").is_none() && is_softmax(&test)? {
            return self.direct(&test, scope, to);
        }
        let list = cpt.need("copies", "this tested CPT")?;
        let (child, width) = (
            scope[scope.len() - 1],
            self.variables.card(scope[scope.len() - 1]),
        );
        let (mut tables, mut known, mut starts) = (vec![], vec![], vec![]);
        for copy in list.items("a list of copies")? {
            let copy = copy?.object("`{` to begin a copy")?;
            copy.only(&COPY)?;
            let numbers = self.copy(&copy, child, width)?;
            tables.push(numbers.values);
            starts.extend(numbers.starts);
            known.push(role(&copy)?);
        }
        // The sizes of the tables, not those the parents require: the builder compares the two.
        let rows = tables.first().map_or(0, Vec::len) / width.max(1);
        let nodes = scope.iter().map(|&v| Node(v)).collect::<Vec<_>>();
        let (&own, parents) = nodes.split_last().expect("a CPT has a child");
        let draft = to.selected(
            own,
            parents.iter().copied(),
            tables,
            self.selection(&test, rows, known.len())?,
        );
        draft.copies(known);
        settle(&test, draft)?;
        Ok(CptMarks {
            list: list.span.clone(),
            entries: starts,
            width,
            test: parts(&test),
            ..CptMarks::default()
        })
    }

    /// Tells the builder a CPT whose rows are a softmax.
    fn direct(&self, test: &Object<'a>, scope: &[usize], to: &mut Builder) -> Result<CptMarks> {
        test.only(&fields(Some("softmax")))?;
        let SelectionKind::Softmax {
            of,
            weights,
            biases,
        } = self.softmax(test)?
        else {
            unreachable!("a softmax is one")
        };
        let nodes = scope.iter().map(|&v| Node(v)).collect::<Vec<_>>();
        let (&own, parents) = nodes.split_last().expect("a CPT has a child");
        let of = of.into_iter().map(|v| Node(v.index()));
        settle(
            test,
            to.logits(own, parents.iter().copied(), of, weights, biases),
        )?;
        let list = test.need("weights", "this softmax")?.span.clone();
        Ok(CptMarks {
            list,
            width: self.variables.card(own.0),
            test: parts(test),
            ..CptMarks::default()
        })
    }

    fn copy(&self, copy: &Object<'a>, child: usize, width: usize) -> Result<Entries<f64>> {
        let (body, value) = only_one(copy, &["table", "function", "constraint"])?;
        match body {
            "table" => table(value, width),
            "constraint" => constraint(value, width),
            _ => {
                let function = self.function(value, child)?;
                let mut dense = Entries::new();
                for (&value, &start) in function.values.iter().zip(&function.starts) {
                    dense
                        .values
                        .extend((0..width).map(|k| f64::from(u8::from(k == value as usize))));
                    dense.starts.extend(vec![start; width]);
                }
                Ok(dense)
            }
        }
    }

    fn selection(&self, test: &Object<'a>, rows: usize, copies: usize) -> Result<Selection> {
        let name = test
            .get("select")
            .map(|value| value.string("how copies are selected"))
            .transpose()?;
        test.only(&fields(name.as_deref()))?;
        let kind = match name.as_deref() {
            None | Some("step") => SelectionKind::Step(comparison(test)?),
            Some("sigmoid") => {
                let slope = test
                    .get("slope")
                    .map_or(Ok(SLOPE), |slope| slope.number("a slope"))?;
                SelectionKind::Sigmoid {
                    slope,
                    is_learned: test.flag("learn_slope")?,
                }
            }
            Some("linear") => SelectionKind::Linear,
            Some("softmax") => self.softmax(test)?,
            Some(other) => {
                let error = test
                    .need("select", "this test")?
                    .error(format!("unknown selection `{}`", shown(other)));
                return Err(error.hint("selections are `step`, `sigmoid`, `linear` and `softmax`"));
            }
        };
        let thresholds = match test.get("thresholds") {
            None => vec![],
            Some(value) => thresholds(value, rows, copies)?,
        };
        Ok(Selection {
            copies,
            thresholds,
            kind,
        })
    }

    fn softmax(&self, test: &Object<'a>) -> Result<SelectionKind> {
        let list = test.need("of", "this softmax")?;
        let of = words(list, "variable")?;
        let of: Vec<VarId> = of
            .iter()
            .map(|name| self.variables.find(name).map(VarId::new))
            .collect::<Result<_>>()?;
        if of.is_empty() || (1..of.len()).any(|i| of[..i].contains(&of[i])) {
            let what = if of.is_empty() {
                "is of no variables"
            } else {
                "is of a variable twice"
            };
            return Err(list
                .error(format!("this softmax {what}"))
                .hint("name the variables whose evidence decides, each once"));
        }
        let width = of.iter().map(|v| self.variables.card(v.index())).sum();
        let number = |value: &Value<'_>| value.number("a weight");
        let weights = entries(test.need("weights", "this softmax")?, width, number)?.values;
        let biases = entries(test.need("biases", "this softmax")?, 1, number)?.values;
        Ok(SelectionKind::Softmax {
            of,
            weights,
            biases,
        })
    }
}

/// Where the fields of a test are.
fn parts(test: &Object<'_>) -> Vec<(&'static str, Span)> {
    TEST.iter()
        .filter_map(|name| Some((*name, test.get(name)?.span.clone())))
        .collect()
}

fn is_softmax(test: &Object<'_>) -> Result<bool> {
    let name = test
        .get("select")
        .map(|value| value.string("how copies are selected"))
        .transpose()?;
    Ok(name.as_deref() == Some("softmax"))
}

/// Whether a selection is fixed, and to what it is tied.
fn settle(test: &Object<'_>, draft: &mut CptDraft) -> Result<()> {
    if test.flag("fixed")? {
        draft.fix_selection();
    }
    if let Some(tie) = test.get("tie") {
        draft.tie_selection(tie.string("a name for the tie")?);
    }
    Ok(())
}

fn comparison(test: &Object<'_>) -> Result<Comparison> {
    let Some(value) = test.get("compare") else {
        return Ok(Comparison::default());
    };
    let sign = value.string("a comparison")?;
    let found = Comparison::ALL
        .into_iter()
        .find(|comparison| comparison.sign() == sign);
    found.ok_or_else(|| {
        let error = value.error(format!("unknown comparison `{}`", shown(&sign)));
        error.hint("comparisons are `>=`, `>`, `<=` and `<`")
    })
}

/// Thresholds for each row; a single number, or a list of one less than there are copies, is meant
/// for all of them.
fn thresholds(value: &Value<'_>, rows: usize, copies: usize) -> Result<Vec<f64>> {
    let number = |value: &Value<'_>| value.number("a threshold");
    if !value.is_list() {
        let all = number(value)?;
        if copies > 2 {
            let error = value.error(format!(
                "a single threshold is for two copies, and this CPT has {copies}"
            ));
            return Err(error.hint(format!(
                "give a list of {} for all rows, or one for each",
                copies - 1
            )));
        }
        return Ok(vec![all; rows * (copies.max(1) - 1)]);
    }
    let found = entries(value, copies.max(1) - 1, number)?.values;
    if found.len() + 1 == copies && rows > 1 && copies > 2 {
        return Ok(found.repeat(rows));
    }
    let needed = rows * (copies.max(1) - 1);
    if found.len() == needed {
        return Ok(found);
    }
    let needed = many(needed, "threshold");
    let error = value.error(format!("this test needs {needed}, not {}", found.len()));
    Err(error.hint(
        "give one less than there are copies, for each joint state of the parents, or once for all of them",
    ))
}

/// The copies and the test, as they are written.
pub(super) fn write(net: &Network, it: &SelectedCpt, card: usize) -> String {
    let size = it.table.len() / it.roles.len();
    let copy = |(table, role): (&[f64], &Role)| {
        format!("{{\"table\": {}{}}}", rows(table, card), roles(role))
    };
    let copies: Vec<String> = it
        .table
        .chunks_exact(size)
        .zip(&it.roles)
        .map(copy)
        .collect();
    if it.is_direct() {
        return format!("\"test\": {{{}}}", test(net, it));
    }
    format!(
        "\"copies\": [{}], \"test\": {{{}}}",
        copies.join(", "),
        test(net, it)
    )
}

fn test(
    net: &Network,
    SelectedCpt {
        selection,
        is_fixed,
        tie,
        ..
    }: &SelectedCpt,
) -> String {
    let mut out = format!("\"select\": \"{}\"", selection.kind.name());
    match &selection.kind {
        SelectionKind::Step(comparison) => {
            let _ = write!(out, ", \"compare\": \"{}\"", comparison.sign());
        }
        SelectionKind::Sigmoid { slope, is_learned } => {
            let learned = if *is_learned {
                ", \"learn_slope\": true"
            } else {
                ""
            };
            let _ = write!(out, ", \"slope\": {slope:?}{learned}");
        }
        SelectionKind::Linear => {}
        SelectionKind::Softmax {
            of,
            weights,
            biases,
        } => {
            let of = names(of.iter().map(|&v| &net.variable(v).name));
            let weights: Vec<String> = weights
                .chunks_exact(weights.len() / biases.len())
                .map(|row| format!("{row:?}"))
                .collect();
            let _ = write!(
                out,
                ", \"of\": {of}, \"weights\": [{}], \"biases\": {biases:?}",
                weights.join(", ")
            );
        }
    }
    if !selection.thresholds.is_empty() {
        let rows = selection
            .thresholds
            .chunks_exact(selection.copies - 1)
            .map(|row| format!("{row:?}"));
        let _ = write!(
            out,
            ", \"thresholds\": [{}]",
            rows.collect::<Vec<_>>().join(", ")
        );
    }
    let role = Role {
        fixed: *is_fixed,
        tie: tie.clone(),
        ..Role::default()
    };
    out + &roles(&role)
}
