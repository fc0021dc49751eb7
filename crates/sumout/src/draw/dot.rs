//! Trees and networks in the language of Graphviz.

use std::fmt::Write;

use crate::compile::Question;
use crate::draw::{Jointree, Node, entries, escaped};
use crate::model::Network;
use crate::vars::VarId;

const STYLE: &str = "  graph [rankdir=LR, fontname=\"Helvetica\"]\n  \
                     node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, fillcolor=white]\n  \
                     edge [arrowsize=0.6, color=\"#8a94a6\"]\n";

pub(crate) fn jointree(tree: &Jointree) -> String {
    let mut out = format!("digraph {} {{\n{STYLE}", quoted(&tree.network));
    for (index, node) in tree.nodes.iter().enumerate() {
        let fill = if node.varies { "white" } else { "#eef0f3" };
        let border = if node.is_copy {
            "rounded,filled,dashed"
        } else {
            "rounded,filled"
        };
        line(
            &mut out,
            format_args!(
                "n{index} [label=<{}>, fillcolor=\"{fill}\", style=\"{border}\"]",
                label(node)
            ),
        );
        for child in node.children.into_iter().flat_map(|(l, r)| [l, r]) {
            line(&mut out, format_args!("n{index} -> n{child} [dir=back]")); // messages flow to the root
        }
    }
    out + "}\n"
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "  {text}").expect("a string takes everything");
}

/// The title, the separator with what is dropped in red, and its size.
fn label(node: &Node) -> String {
    let mut lines: Vec<String> = node
        .title
        .iter()
        .map(|title| format!("<B>{}</B>", escaped(title)))
        .collect();
    let kept = node.kept.iter().map(|name| escaped(name));
    let dropped = node
        .dropped
        .iter()
        .map(|name| format!("<FONT COLOR=\"#c1121f\"><I>{}</I></FONT>", escaped(name)));
    let names: Vec<String> = kept.chain(dropped).collect();
    lines.extend((!names.is_empty()).then(|| names.join(" ")));
    lines.push(format!(
        "<FONT POINT-SIZE=\"9\" COLOR=\"#5c677d\">{}</FONT>",
        entries(node.size)
    ));
    lines.join("<BR/>")
}

fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace(|c: char| c.is_control(), " ")
    )
}

/// A network in the language of Graphviz: functions have a double border, targets and inputs are
/// coloured.
///
/// The factors of a Markov network are small squares.
pub fn network_dot(net: &Network, question: &Question) -> String {
    let kind = if net.is_markov() { "graph" } else { "digraph" };
    let node_style =
        "node [shape=ellipse, style=filled, fillcolor=white, fontname=\"Helvetica\", fontsize=11]";
    let mut out = format!(
        "{kind} {} {{\n  {node_style}\n  edge [color=\"#8a94a6\"]\n",
        quoted(net.name())
    );
    for v in net.ids() {
        let (name, fill) = (quoted(&net.variable(v).name), colour(question, v));
        let borders = if is_function(net, v) { 2 } else { 1 };
        line(
            &mut out,
            format_args!(
                "v{} [label={name}, fillcolor=\"{fill}\", peripheries={borders}]",
                v.index()
            ),
        );
    }
    for (index, cpt) in net.cpts().iter().enumerate() {
        if net.is_markov() {
            line(
                &mut out,
                format_args!(
                    "f{index} [label=\"\", shape=square, width=0.12, fillcolor=\"#5c677d\"]"
                ),
            );
            cpt.scope()
                .iter()
                .for_each(|v| line(&mut out, format_args!("f{index} -- v{}", v.index())));
        } else {
            cpt.parents()
                .iter()
                .for_each(|v| line(&mut out, format_args!("v{} -> v{index}", v.index())));
        }
    }
    out + "}\n"
}

fn is_function(net: &Network, v: VarId) -> bool {
    let cpt = (!net.is_markov()).then(|| &net.cpts()[v.index()]);
    cpt.is_some_and(|cpt| cpt.is_functional() || cpt.role().functional)
}

/// Inputs are blue, darker if their values are promised; a single target is orange.
fn colour(question: &Question, v: VarId) -> &'static str {
    match v {
        v if question.hard.contains(v) => "#8fbce6",
        v if question.inputs.contains(v) => "#cfe3f7",
        v if question.goal.output().contains(v) => "#ffd8a8",
        _ => "white",
    }
}
