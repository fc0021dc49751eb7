//! Tornado plots: for each number a bar from the least to the largest probability that it can make.

use std::fmt::Write;

const ROW: f64 = 22.0;
const TOP: f64 = 46.0;
const WIDTH: f64 = 420.0;
/// The width of a letter of a label.
const LETTER: f64 = 7.0;

/// The longest bars come first, and a line stands at the present probability.
pub fn svg(target: &str, now: f64, mut bars: Vec<(String, (f64, f64))>) -> String {
    bars.sort_by(|a, b| length(b.1).total_cmp(&length(a.1)));
    let letters = bars.iter().map(|(label, _)| label.chars().count());
    let left = 20.0 + LETTER * letters.max().unwrap_or(0) as f64;
    let height = TOP + ROW * bars.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"14\">P({} | evidence), as each number goes from 0 to 1</text>\n",
        left + WIDTH + 30.0,
        height + 30.0,
        escaped(target)
    );
    for (row, (label, ends)) in bars.iter().enumerate() {
        bar(&mut svg, left, TOP + ROW * row as f64, label, *ends);
    }
    let at = left + WIDTH * now;
    let _ = writeln!(
        svg,
        "<path d=\"M{at:.1} {TOP}V{height:.1}\" stroke=\"black\" stroke-dasharray=\"3 2\"/>"
    );
    axis(&mut svg, left, height);
    svg + "</svg>\n"
}

fn length((low, high): (f64, f64)) -> f64 {
    (high - low).abs()
}

fn bar(svg: &mut String, left: f64, y: f64, label: &str, (low, high): (f64, f64)) {
    let colour = if low <= high { "#3b7dd8" } else { "#d8743b" };
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n\
         <rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
        left - 8.0,
        y + 15.0,
        escaped(label),
        left + WIDTH * low.min(high),
        y + 3.0,
        (WIDTH * length((low, high))).max(1.0),
        ROW - 6.0
    );
}

fn axis(svg: &mut String, left: f64, y: f64) {
    let _ = writeln!(svg, "<path d=\"M{left} {y:.1}h{WIDTH}\" stroke=\"black\"/>");
    for tick in 0..=4 {
        let share = f64::from(tick) / 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share}</text>",
            left + WIDTH * share,
            y + 18.0
        );
    }
}

/// Names come from files: nothing of them is markup.
fn escaped(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let text: String = visible.collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bars_come_first_and_names_are_not_markup() {
        let bars = vec![
            ("short".to_owned(), (0.5, 0.4)),
            ("<b>&".to_owned(), (0.25, 0.75)),
        ];
        let svg = svg("x=\u{1b}y", 0.45, bars);
        let [long, short] = ["&lt;b&gt;&amp;", ">short<"].map(|label| svg.find(label));
        assert!(long.is_some() && long < short);
        assert!(svg.contains("width=\"210.0\"") && svg.contains("width=\"42.0\""));
        assert!(!svg.contains('\u{1b}') && !svg.contains("<b>"));
    }
}
