//! The tensors of a compiled query as a picture: what is computed from what, and how many numbers
//! that is.
//!
//! The output is on the left. Everything that does not depend on evidence is one box. Steps that read one
//! tensor only stand in its box; rescaling is not shown. A tensor that is read twice is drawn where
//! it is read first.

use std::fmt::Write;

use crate::draw::layout::{Item, layout};
use crate::draw::{entries, escaped};
use crate::model::FactorModel;
use crate::tensor::{AxisId, AxisSet, Graph, NodeId, Op};

/// No more boxes than this are drawn.
const MAX_CARDS: usize = 1000;

/// Sizes in pixels: of a character, a line, and the space around things.
const CHARACTER_WIDTH: f64 = 6.63;
const LINE_HEIGHT: f64 = 15.0;
const PADDING: f64 = 8.0;
const MARGIN: f64 = 28.0;
const HEADER: f64 = 62.0;
/// The header needs this much.
const MIN_WIDTH: f64 = 560.0;

/// Maximum length of a line, in characters.
const MAX_LABEL_CHARS: usize = 34;

const STYLE: &str = "\
text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:11px;fill:#1d2433}\
.head{font-size:16px;font-weight:bold}.soft{fill:#667085}.bold{font-weight:bold}.input{fill:#1c64b4;font-weight:bold}\
rect.box{stroke:#94a0b4;fill:#fff4df}rect.same{stroke:#cbd2dc;fill:#f2f4f7}path{fill:none;stroke:#b8c1cf;stroke-width:1.4}";

/// A box with lines of text, each of a class.
struct Card {
    lines: Vec<(String, &'static str)>,
    is_constant: bool,
    children: Option<(usize, usize)>,
}

/// Draws a graph whose variables are those of a network, and maybe more.
pub fn graph_svg(net: &FactorModel, graph: &Graph) -> String {
    let mut drawing = Drawing {
        net,
        graph,
        varies: graph.varies(),
        cards: vec![],
        drawn: vec![false; graph.ops().len()],
    };
    drawing.visit(graph.output());
    let items: Vec<Item> = drawing.cards.iter().map(item).collect();
    let placed = layout(&items);
    let (width, height) = (
        placed.width.max(MIN_WIDTH) + 2.0 * MARGIN,
        placed.height + HEADER + MARGIN,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g transform=\"translate({MARGIN} 0)\">\n\
         <text class=\"head\" y=\"30\">{} · tensors</text>\n<text class=\"soft\" y=\"48\">{}</text>\n",
        escaped(net.name()),
        drawing.subtitle()
    );
    for (at, card) in drawing.cards.iter().enumerate() {
        let (x, y) = (placed.places[at].0, placed.places[at].1 + HEADER);
        for child in card.children.into_iter().flat_map(|(l, r)| [l, r]) {
            let (to, down) = (placed.places[child].0, placed.places[child].1 + HEADER);
            let (from, end) = (x + items[at].width, placed.ends[at]);
            let (near, far) = (end + (to - end) / 2.0, to);
            let _ = writeln!(
                out,
                "<path d=\"M{from:.1} {y:.1}H{end:.1}C{near:.1} {y:.1} {near:.1} {down:.1} {far:.1} {down:.1}\"/>"
            );
        }
        draw(&mut out, card, &items[at], (x, y));
    }
    out + "</g>\n</svg>\n"
}

fn item(card: &Card) -> Item {
    let columns = card
        .lines
        .iter()
        .map(|(text, _)| text.chars().count())
        .max()
        .unwrap_or(0);
    Item {
        width: columns as f64 * CHARACTER_WIDTH + 2.0 * PADDING,
        height: card.lines.len() as f64 * LINE_HEIGHT + 1.5 * PADDING,
        children: card.children,
    }
}

fn draw(out: &mut String, card: &Card, item: &Item, (x, y): (f64, f64)) {
    let class = if card.is_constant { "same" } else { "box" };
    let top = y - item.height / 2.0;
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
        item.width, item.height
    );
    for (line, (text, class)) in card.lines.iter().enumerate() {
        let (x, y) = (x + PADDING, top + PADDING + LINE_HEIGHT * line as f64 + 8.0);
        let _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(text)
        );
    }
}

struct Drawing<'a> {
    net: &'a FactorModel,
    graph: &'a Graph,
    varies: Vec<bool>,
    cards: Vec<Card>,
    drawn: Vec<bool>,
}

impl Drawing<'_> {
    fn subtitle(&self) -> String {
        let (varying, constant): (Vec<_>, Vec<_>) = self
            .graph
            .ops()
            .filter(|(_, op)| !matches!(op, Op::Rescale(_) | Op::Evidence(_)))
            .partition(|(n, _)| self.varies[n.index()]);
        let size = |nodes: &[(NodeId, &Op)]| {
            entries(nodes.iter().map(|(node, _)| self.graph.size(*node)).sum())
        };
        format!(
            "{} depend on evidence; {} are the same for all examples",
            size(&varying),
            size(&constant)
        )
    }

    /// Draws a node and what it is computed from; children come first.
    fn visit(&mut self, node: NodeId) -> usize {
        let size = entries(self.graph.size(node));
        let names = self.names(self.graph.axes(node));
        let is_again = std::mem::replace(&mut self.drawn[node.index()], true);
        let is_constant = !self.varies[node.index()];
        if is_constant || is_again || self.cards.len() >= MAX_CARDS {
            let what = if is_constant { "table" } else { "…" };
            return self.leaf(
                vec![(format!("{what} {names}"), "bold"), (size, "soft")],
                is_constant,
            );
        }
        let (graph, op) = (self.graph, self.graph.op(node));
        let label = op.label(graph, |v| self.name(v));
        let tensors: Vec<NodeId> = graph.tensors(op).collect();
        match (label, &tensors[..]) {
            (Some(label), []) => self.leaf(vec![(label, "input"), (size, "soft")], false),
            (Some(label), [a]) => self.after(*a, label, size),
            (Some(label), [a, b]) if !matches!(op, Op::Select(..)) => {
                self.pair([*a, *b], label, names, size)
            }
            (Some(label), of) => self.several(of, label, size),
            (None, of) => self.visit(of[0]),
        }
    }

    /// Nodes computed from several evidence tensors name them.
    fn several(&mut self, of: &[NodeId], label: String, size: String) -> usize {
        let axes = of.iter().map(|node| self.names(self.graph.axes(*node)));
        let inputs = format!("λ({})", axes.collect::<Vec<_>>().join(" "));
        let lines = vec![(inputs, "input"), (label, "bold"), (size, "soft")];
        self.leaf(lines, false)
    }

    fn leaf(&mut self, lines: Vec<(String, &'static str)>, is_constant: bool) -> usize {
        self.push(lines, is_constant, None)
    }

    fn pair(&mut self, [a, b]: [NodeId; 2], title: String, names: String, size: String) -> usize {
        let children = (self.visit(a), self.visit(b));
        self.push(
            vec![(title, "bold"), (names, ""), (size, "soft")],
            false,
            Some(children),
        )
    }

    fn after(&mut self, node: NodeId, step: String, size: String) -> usize {
        let at = self.visit(node);
        self.cards[at]
            .lines
            .extend([(shortened(step), "bold"), (size, "soft")]);
        at
    }

    fn push(
        &mut self,
        lines: Vec<(String, &'static str)>,
        is_constant: bool,
        children: Option<(usize, usize)>,
    ) -> usize {
        let lines = lines.into_iter().filter(|(text, _)| !text.is_empty());
        let lines = lines
            .map(|(text, class)| (shortened(text), class))
            .collect();
        self.cards.push(Card {
            lines,
            is_constant,
            children,
        });
        self.cards.len() - 1
    }

    fn name(&self, axis: AxisId) -> String {
        let variable = self.graph.variable(axis);
        let named = variable.and_then(|v| self.net.variables().get(v.index()));
        named.map_or_else(
            || format!("{} states", self.graph.cards()[axis.index()]),
            |variable| variable.name.clone(),
        )
    }

    fn names(&self, axes: &AxisSet) -> String {
        axes.iter()
            .map(|axis| self.name(axis))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_LABEL_CHARS) {
        None => text,
        Some(_) => text
            .chars()
            .take(MAX_LABEL_CHARS - 1)
            .chain(['…'])
            .collect(),
    }
}
