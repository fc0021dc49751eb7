//! A tree as a picture that any browser shows.
//!
//! The root is on the left. Of more than [`MAX_NODES`] nodes only the most expensive are drawn, with
//! their siblings; a node whose children are left out says how many there are below.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::draw::card::{Card, Style};
use crate::draw::layout::{Item, Layout, layout};
use crate::draw::{Jointree, Node, entries, escaped};

/// No more nodes than this are drawn.
const MAX_NODES: usize = 300;

/// Sizes in pixels: of a character, a line, and the space around things.
const CHARACTER_WIDTH: f64 = 6.63;
const LINE_HEIGHT: f64 = 15.0;
const PADDING: f64 = 8.0;
const MARGIN: f64 = 28.0;

/// The room for the title above the tree, and for the legend below it.
const HEADER: f64 = 62.0;
const FOOTER: f64 = 44.0;

/// The legend needs this much.
const MIN_WIDTH: f64 = 850.0;

const STYLE: &str = "\
text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:11px;fill:#1d2433}\
.head{font-size:16px;font-weight:bold}.sub,.n{fill:#667085}.t{font-weight:bold}.e{fill:#1c64b4;font-weight:bold}\
.d{fill:#d00000;font-style:italic}\
.box{stroke:#94a0b4;stroke-width:1}.same{stroke:#cbd2dc}.copy{stroke-dasharray:4 3}.root{stroke:#1d2433;stroke-width:1.6}\
.edge{fill:none;stroke:#b8c1cf}";

pub(crate) fn jointree(tree: &Jointree) -> String {
    let shown = shown(tree);
    let cards: Vec<Card> = shown.iter().map(|&node| card(tree, &shown, node)).collect();
    let items: Vec<Item> = shown
        .iter()
        .zip(&cards)
        .map(|(&node, card)| item(tree, &shown, node, card))
        .collect();
    let layout = layout(&items);
    let mut picture = Picture {
        tree,
        out: String::new(),
    };
    picture.open(&layout, shown.len());
    picture.edges(&shown, &items, &layout);
    for (at, (&node, card)) in shown.iter().zip(&cards).enumerate() {
        picture.card(
            &tree.nodes[node],
            card,
            &items[at],
            layout.places[at],
            node == tree.root(),
        );
    }
    picture.legend(HEADER + layout.height + MARGIN);
    picture.out + "</g>\n</svg>\n"
}

/// The nodes to draw, in increasing order: from the root down, the most expensive first.
fn shown(tree: &Jointree) -> Vec<usize> {
    let mut shown = BTreeSet::from([tree.root()]);
    let key = |node: usize| (tree.nodes[node].work.to_bits(), node); // no work is negative
    let mut open = BTreeSet::from([key(tree.root())]);
    while let Some((_, node)) = open.pop_last() {
        if shown.len() + 2 > MAX_NODES {
            break;
        }
        for child in tree.nodes[node]
            .children
            .into_iter()
            .flat_map(|(l, r)| [l, r])
        {
            shown.insert(child);
            open.insert(key(child));
        }
    }
    shown.into_iter().collect()
}

/// The positions of a node's children among those that are shown.
fn children(tree: &Jointree, shown: &[usize], node: usize) -> Option<(usize, usize)> {
    let (l, r) = tree.nodes[node].children?;
    Some((shown.binary_search(&l).ok()?, shown.binary_search(&r).ok()?))
}

fn card(tree: &Jointree, shown: &[usize], node: usize) -> Card {
    let is_cut = tree.nodes[node].children.is_some() && children(tree, shown, node).is_none();
    Card::new(&tree.nodes[node], is_cut)
}

fn item(tree: &Jointree, shown: &[usize], node: usize, card: &Card) -> Item {
    Item {
        width: card.columns() as f64 * CHARACTER_WIDTH + 2.0 * PADDING,
        height: card.lines.len() as f64 * LINE_HEIGHT + 1.5 * PADDING,
        children: children(tree, shown, node),
    }
}

struct Picture<'a> {
    tree: &'a Jointree,
    out: String,
}

impl Picture<'_> {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a string takes everything");
        self.out.push('\n');
    }

    fn open(&mut self, layout: &Layout, shown: usize) {
        let (width, height) = (
            layout.width.max(MIN_WIDTH) + 2.0 * MARGIN,
            layout.height + HEADER + FOOTER + MARGIN,
        );
        self.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g transform=\"translate({MARGIN} 0)\">"
        ));
        let root = &self.tree.nodes[self.tree.root()];
        let title = format!(
            "{} · {}",
            self.tree.network,
            root.title.as_deref().unwrap_or_default()
        );
        self.put(format_args!(
            "<text class=\"head\" y=\"30\">{}</text>",
            escaped(&title)
        ));
        let subtitle = self.subtitle(root, shown);
        self.put(format_args!(
            "<text class=\"sub\" y=\"48\">{subtitle}</text>"
        ));
    }

    fn subtitle(&self, root: &Node, shown: usize) -> String {
        let all = self.tree.nodes.len();
        let dropped: usize = self.tree.nodes.iter().map(|node| node.dropped.len()).sum();
        let sizes = format!(
            "largest separator {}, variables dropped in {dropped} places",
            entries(root.largest_below)
        );
        match all - shown {
            0 => format!("a jointree of {all} nodes; {sizes}"),
            left_out => format!(
                "the {shown} most expensive of {all} nodes, {left_out} are left out; {sizes}"
            ),
        }
    }

    fn edges(&mut self, shown: &[usize], items: &[Item], layout: &Layout) {
        for (at, item) in items.iter().enumerate() {
            let (left, middle) = layout.places[at];
            for child in item.children.into_iter().flat_map(|(l, r)| [l, r]) {
                let (x, y) = layout.places[child];
                // Straight to the end of the column, so that no other box of it is crossed.
                let (from, end) = (left + item.width, layout.ends[at]);
                let (y1, y2, bend) = (middle + HEADER, y + HEADER, (end + x) / 2.0);
                let weight = 1.0 + self.tree.nodes[shown[child]].size.log2().max(0.0) / 4.0;
                let path = format!(
                    "M{from:.1} {y1:.1}H{end:.1}C{bend:.1} {y1:.1} {bend:.1} {y2:.1} {x:.1} {y2:.1}"
                );
                self.put(format_args!(
                    "<path class=\"edge\" stroke-width=\"{weight:.1}\" d=\"{path}\"/>"
                ));
            }
        }
    }

    fn card(
        &mut self,
        node: &Node,
        card: &Card,
        item: &Item,
        (left, middle): (f64, f64),
        is_root: bool,
    ) {
        let top = middle + HEADER - item.height / 2.0;
        let class = match node {
            _ if is_root => "box root",
            node if node.is_copy => "box copy",
            node if !node.varies => "box same",
            _ => "box",
        };
        let (width, height, fill) = (item.width, item.height, self.tint(node));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\" fill=\"{fill}\"/>"
        ));
        for (line, words) in card.lines.iter().enumerate() {
            let y = top + PADDING * 0.75 + LINE_HEIGHT * line as f64 + 11.0;
            let spans: Vec<String> = words
                .iter()
                .map(|word| span(word.style, &word.text))
                .collect();
            self.put(format_args!(
                "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                left + PADDING,
                spans.join(" ")
            ));
        }
    }

    /// Grey where nothing varies; otherwise the warmer the larger, relative to the largest.
    fn tint(&self, node: &Node) -> String {
        if !node.varies {
            return "#f1f3f6".into();
        }
        let largest = self.tree.nodes[self.tree.root()]
            .largest_below
            .log2()
            .max(1.0);
        let share = (node.size.log2() / largest).clamp(0.0, 1.0).powi(2);
        let mix = |cold: f64, warm: f64| (cold + (warm - cold) * share).round() as u8;
        format!(
            "#{:02x}{:02x}{:02x}",
            mix(255.0, 255.0),
            mix(255.0, 214.0),
            mix(255.0, 140.0)
        )
    }

    fn legend(&mut self, top: f64) {
        let mut left = 0.0;
        for (sample, text) in [
            (
                "<rect class=\"box\" y=\"-10\" width=\"16\" height=\"12\" rx=\"3\" fill=\"#ffd68c\"/>",
                "large",
            ),
            (
                "<rect class=\"box same\" y=\"-10\" width=\"16\" height=\"12\" rx=\"3\" fill=\"#f1f3f6\"/>",
                "the same for all examples",
            ),
            (
                "<rect class=\"box copy\" y=\"-10\" width=\"16\" height=\"12\" rx=\"3\" fill=\"#f1f3f6\"/>",
                "copy of a function",
            ),
            ("<text class=\"e\" y=\"0\">λ</text>", "evidence"),
            (
                "<text class=\"d\" y=\"0\">X</text>",
                "dropped: a function lets it be summed out here",
            ),
        ] {
            self.put(format_args!(
                "<g transform=\"translate({left:.1} {top:.1})\">{sample}<text class=\"sub\" x=\"24\">{text}</text></g>"
            ));
            left += 24.0 + (text.chars().count() + 3) as f64 * CHARACTER_WIDTH;
        }
    }
}

fn span(style: Style, text: &str) -> String {
    let class = match style {
        Style::Kept => return escaped(text),
        Style::Title => "t",
        Style::Evidence => "e",
        Style::Dropped => "d",
        Style::Note => "n",
    };
    format!("<tspan class=\"{class}\">{}</tspan>", escaped(text))
}
