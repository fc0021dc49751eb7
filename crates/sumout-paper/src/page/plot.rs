//! Plots: panels with axes, and in them lines with what surrounds them.

use std::fmt::Write;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 280.0;
/// Around the lines: left, top, right, bottom.
const MARGIN: [f64; 4] = [72.0, 30.0, 12.0, 44.0];

/// An axis, from its low to its high end.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: &'static str,
    pub low: f64,
    pub high: f64,
    pub is_log: bool,
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Where a number is, from 0 to 1.
    fn share(&self, x: f64) -> f64 {
        let scale = |x: f64| if self.is_log { x.ln() } else { x };
        (scale(x) - scale(self.low)) / (scale(self.high) - scale(self.low))
    }
}

/// How the standard deviation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    None,
    Bars,
    Band,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// A colour of the page, by its name.
    pub colour: &'static str,
    pub dashes: &'static str,
    pub mark: Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// A line: what it shows, and its points with their standard deviations.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    pub look: Look,
    pub points: Vec<(f64, f64, f64)>,
}

/// Lines between two axes.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub spread: Spread,
    pub lines: Vec<Line>,
}

/// Panels with a legend, as a figure.
pub fn figure(id: &str, caption: &str, explanation: &str, panels: &[Panel]) -> String {
    let mut looks: Vec<(&str, Look)> = vec![];
    for line in panels.iter().flat_map(|panel| &panel.lines) {
        if !looks.iter().any(|(name, _)| *name == line.name) {
            looks.push((&line.name, line.look));
        }
    }
    let legend: String = looks
        .iter()
        .map(|(name, look)| format!("<li>{}{name}</li>\n", sample(look)))
        .collect();
    let drawn: String = panels.iter().map(Panel::draw).collect();
    format!(
        "<figure id=\"{id}\">\n<figcaption>{caption}<span>{explanation}</span></figcaption>\n\
         <ul class=\"legend\">\n{legend}</ul>\n<div class=\"panels\">\n{drawn}</div>\n</figure>\n"
    )
}

/// A piece of a line for the legend.
fn sample(look: &Look) -> String {
    let Look {
        colour,
        dashes,
        mark,
    } = look;
    format!(
        "<svg viewBox=\"0 0 40 12\" aria-hidden=\"true\"><path d=\"M0 6H40\" stroke=\"var(--{colour})\" stroke-width=\"2\" \
         stroke-dasharray=\"{dashes}\"/>{}</svg>",
        mark.draw(20.0, 6.0, colour)
    )
}

impl Mark {
    fn draw(self, x: f64, y: f64, colour: &str) -> String {
        let path = match self {
            Mark::Circle => {
                return format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\" fill=\"var(--{colour})\"/>"
                );
            }
            Mark::Square => "m-3.2 -3.2h6.4v6.4h-6.4z",
            Mark::Triangle => "m0 -4.2l4 7h-8z",
            Mark::Diamond => "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
        };
        format!("<path d=\"M{x:.1} {y:.1}{path}\" fill=\"var(--{colour})\"/>")
    }
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let [left, top, right, bottom] = MARGIN;
        let (x, y) = (self.x.share(x), self.y.share(y).clamp(0.0, 1.0));
        (
            left + (WIDTH - left - right) * x,
            HEIGHT - bottom - (HEIGHT - top - bottom) * y,
        )
    }

    fn draw(&self) -> String {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            self.title
        );
        self.frame(&mut svg);
        if self.spread == Spread::Band {
            self.lines.iter().for_each(|line| self.band(&mut svg, line));
        }
        self.lines.iter().for_each(|line| self.line(&mut svg, line));
        svg + "</svg>\n"
    }

    fn frame(&self, svg: &mut String) {
        let [left, top, right, bottom] = MARGIN;
        let (end, floor) = (WIDTH - right, HEIGHT - bottom);
        let _ = writeln!(
            svg,
            "<text class=\"title\" x=\"{left}\" y=\"16\">{}</text>",
            self.title
        );
        for (value, text) in &self.y.ticks {
            let y = self.at(self.x.low, *value).1;
            let _ = writeln!(svg, "<path class=\"rule\" d=\"M{left} {y:.1}H{end}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        for (value, text) in &self.x.ticks {
            let x = self.at(*value, self.y.low).0;
            let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x:.1} {floor}v4\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                floor + 17.0
            );
        }
        let _ = writeln!(
            svg,
            "<path class=\"axis\" d=\"M{left} {top}V{floor}H{end}\"/>"
        );
        let (middle, centre) = ((left + end) / 2.0, (top + floor) / 2.0);
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 8.0,
            self.x.label
        );
        let _ = writeln!(
            svg,
            "<text class=\"soft\" transform=\"translate(13 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            self.y.label
        );
    }

    /// The band of one standard deviation around the line.
    fn band(&self, svg: &mut String, line: &Line) {
        let edge = |sign: f64| {
            line.points
                .iter()
                .map(move |&(x, y, spread)| (x, y + sign * spread))
        };
        let lower: Vec<(f64, f64)> = edge(-1.0).collect();
        let around = edge(1.0)
            .chain(lower.into_iter().rev())
            .map(|(x, y)| self.at(x, y));
        let around: Vec<String> = around.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let colour = line.look.colour;
        let _ = writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"var(--{colour})\" opacity=\"0.13\"/>",
            around.join(" ")
        );
    }

    fn line(&self, svg: &mut String, line: &Line) {
        let Look {
            colour,
            dashes,
            mark,
        } = line.look;
        let places: Vec<(f64, f64)> = line.points.iter().map(|&(x, y, _)| self.at(x, y)).collect();
        let path: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--{colour})\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>",
            path.join(" ")
        );
        for (&(x, y, spread), &(across, down)) in line.points.iter().zip(&places) {
            if self.spread == Spread::Bars {
                let (high, low) = (self.at(x, y + spread).1, self.at(x, y - spread).1);
                let _ = writeln!(
                    svg,
                    "<path d=\"M{across:.1} {high:.1}V{low:.1}\" stroke=\"var(--{colour})\" opacity=\"0.6\"/>"
                );
            }
            let _ = writeln!(
                svg,
                "<g>{}<title>{}: {}</title></g>",
                mark.draw(across, down, colour),
                line.name,
                number(y)
            );
        }
    }
}

fn number(x: f64) -> String {
    crate::text::significant(x, 4)
}
