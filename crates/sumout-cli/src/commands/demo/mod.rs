//! `sumout demo`: the whole story, in the terminal, in less than a minute.
//!
//! Noisy images; what it costs to recognise what they show, without functions and with them; what
//! is to be believed of them; and how that is learned from a hundred examples. Then three questions
//! to a network that is not about images.

mod images;
mod learning;
mod questions;

use std::io::Write;

use serde_json::json;

use crate::output::{Outcome, Result};
use images::Story;
use learning::Lesson;

/// A tour, from noisy images to learning, in less than a minute.
#[derive(clap::Args, Debug)]
pub struct Args {}

const NEXT: &str = "\
Where to go next
  sumout compile digits:16 d --given 'p_*'   what a query costs, and why it is cheap
  sumout paper --quick                       the tables of the paper behind it, in minutes
  sumout query asia                          a small network: every variable, nothing observed
  sumout query YOUR.bif --given …            one of your own: .bif, .xmlbif, .uai, .net, .xdsl, .json
  sumout help fit                            all options of a command";

pub fn run(json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let stories = [Story::rectangles()?, Story::digits()?];
    if json {
        let lesson = Lesson::learn(&mut |_| Ok(()))?;
        let shown = json!({
            "model": "asia",
            "questions": questions::to_json()?,
            "images": stories.iter().flat_map(Story::images_json).collect::<Vec<_>>(),
            "costs": stories.iter().map(Story::cost_json).collect::<Vec<_>>(),
            "learning": lesson.to_json(),
        });
        writeln!(out, "{shown}")?;
        return Ok(Outcome::Done);
    }
    tell(&stories, out)?;
    writeln!(out, "\n{NEXT}")?;
    Ok(Outcome::Done)
}

fn tell(stories: &[Story], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "1. Noisy images\n")?;
    stories.iter().try_for_each(|story| story.show(out))?;
    writeln!(out, "2. The cost of recognising them exactly\n")?;
    images::compare(stories, out)?;
    writeln!(out, "\n3. Posteriors given all pixels\n")?;
    stories.iter().try_for_each(|story| story.believe(out))?;
    out.flush()?;
    writeln!(
        out,
        "\n4. Learning to tell tall from wide, from {} noisy images\n",
        learning::EXAMPLES
    )?;
    Lesson::learn(&mut |line| {
        writeln!(out, "{line}")?;
        Ok(out.flush()?)
    })?;
    writeln!(
        out,
        "\n5. Networks need not be about images. `asia` is about the patients of a chest clinic"
    )?;
    questions::tell(out)
}
