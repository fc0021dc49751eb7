//! By clocks that tests set.

use super::teller::PRODUCTS_PER_SECOND;
use super::*;

fn at(control: &Control, seconds: f64, teller: &mut Teller) -> Option<String> {
    teller.tell(
        Duration::from_secs_f64(seconds),
        control.progress().unwrap(),
    )
}

fn told(control: &Control, seconds: f64, teller: &mut Teller) -> String {
    at(control, seconds, teller).unwrap()
}

#[test]
fn who_waits_is_told_after_two_seconds_and_then_now_and_then() {
    let (control, mut teller) = (Control::new(), Teller::new("looking", Shown::AsLines));
    let times = (0..100).map(|tenths| f64::from(tenths) / 10.0);
    let when: Vec<f64> = times
        .filter(|&t| at(&control, t, &mut teller).is_some())
        .collect();
    assert_eq!(when, [2.0, 7.0]);
    assert_eq!(told(&control, 20.0, &mut teller), "looking … 20 s");
    let mut nowhere = Teller::new("looking", Shown::Nowhere);
    assert_eq!(at(&control, 20.0, &mut nowhere), None);
}

#[test]
fn each_stage_has_its_words() {
    let (control, mut teller) = (Control::new(), Teller::new("computing", Shown::AsLines));
    control.begin(Stage::Simplifying, 0);
    assert_eq!(told(&control, 2.0, &mut teller), "simplifying … 2 s");
    control.begin(Stage::Searching, 0);
    assert_eq!(
        told(&control, 8.0, &mut teller),
        "searching for a plan … 8 s"
    );
    control.found(60.0 * PRODUCTS_PER_SECOND);
    let text = told(&control, 15.0, &mut teller);
    assert_eq!(
        text,
        "searching for a plan … 15 s; the best so far runs for about 60 s"
    );
    control.begin(Stage::Compiling, 10);
    control.advance(4);
    assert_eq!(
        told(&control, 21.0, &mut teller),
        "compiling, 40 % done … 21 s"
    );
}

#[test]
fn long_runs_are_predicted_at_once_and_then_measured() {
    let (control, mut teller) = (Control::new(), Teller::new("computing", Shown::AsLines));
    let second = PRODUCTS_PER_SECOND as u64;
    control.begin(Stage::Running, 40 * second);
    let text = told(&control, 0.1, &mut teller);
    assert_eq!(text, "running, 0 % done, about 40 s left");
    control.advance(10 * second);
    let text = told(&control, 40.1, &mut teller);
    assert_eq!(
        text,
        "running, 25 % done, about 112 s left".replace("112 s", "2 min")
    );
    let text = told(&control, 60.1, &mut teller);
    assert!(
        text.ends_with("; about 20 s longer than predicted"),
        "{text}"
    );
}

#[test]
fn short_runs_are_not_mentioned() {
    let (control, mut teller) = (Control::new(), Teller::new("computing", Shown::InPlace));
    control.begin(Stage::Running, 1000);
    assert_eq!(at(&control, 0.1, &mut teller), None);
}

#[test]
fn the_line_of_a_terminal_is_cleared() {
    let (mut teller, mut out) = (Teller::new("looking", Shown::InPlace), vec![]);
    teller.write("looking … 12 s", &mut out);
    teller.write("looking", &mut out);
    teller.clear(&mut out);
    let text = String::from_utf8(out).unwrap();
    let blank = " ".repeat(14);
    assert_eq!(text, format!("\rlooking … 12 s\rlooking       \r{blank}\r"));
}

#[test]
fn a_limit_that_is_over_has_a_remedy_that_can_work() {
    let control = Control::new();
    let second = PRODUCTS_PER_SECOND as u64;
    control.begin(Stage::Running, 100 * second);
    control.advance(9 * second);
    let error = over(10.0, 10.0, 9.0, &control, &control.interrupted());
    assert_eq!(
        error.message(),
        "the time limit of 10 s is over: stopped while running, 9 % done"
    );
    assert_eq!(error.remedies(), [Remedy::MoreTime(130.0)]);
    control.begin(Stage::Searching, 0);
    control.found(1e30);
    let error = over(10.0, 10.0, 9.0, &control, &control.interrupted());
    assert_eq!(error.remedies(), [Remedy::MoreEvidence]);
}

#[test]
fn work_without_news_gives_its_result() {
    let control = Control::new();
    let limit = Some(Duration::from_secs(3600));
    assert_eq!(
        watched("computing", &control, limit, Shown::InPlace, || 7).0,
        7
    );
}
