//! The files of the page, which are part of the command: it works without a network, and without
//! files beside it.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::wire::Refusal;

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("page/", $name)))),*] };
}

const FILES: [(&str, &str); 30] = files![
    "api.js",
    "bars.js",
    "beliefs.js",
    "compare.js",
    "dom.js",
    "files.js",
    "graph.js",
    "groups.js",
    "icon.svg",
    "index.html",
    "layered.js",
    "live.js",
    "main.js",
    "measure.js",
    "names.js",
    "nodes.js",
    "order.js",
    "pad.js",
    "problems.js",
    "profile.js",
    "share.js",
    "state.js",
    "style.css",
    "table.js",
    "tree.js",
    "viewport.js",
    "views.css",
    "whatif.js",
    "why.js",
    "words.js",
];

/// A file of the page.
pub fn file(name: &str) -> Response {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => ([(header::CONTENT_TYPE, kind(name))], *text).into_response(),
        None => Refusal::new(
            StatusCode::NOT_FOUND,
            "missing",
            "the page has no such file",
        )
        .into_response(),
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}
