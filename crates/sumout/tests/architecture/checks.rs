//! The rules, checked on small modules that keep or break them.

use std::collections::BTreeMap;

use crate::source::{code, reexports, resolved};
use crate::{COMMAND, LIBRARY};

/// The rules that a module of the library breaks, given re-exports of others.
fn broken_with(exports: &[(&str, &str)], module: &str, text: &str) -> Vec<String> {
    let exports: BTreeMap<String, String> = exports
        .iter()
        .flat_map(|(module, text)| reexports(module, &code(text)))
        .collect();
    LIBRARY.broken(module, &code(text), &exports)
}

/// The rules that a module of the library breaks.
fn broken(module: &str, text: &str) -> Vec<String> {
    broken_with(&[("tensor", "pub use graph::{Graph, Op};")], module, text)
}

const NOTHING: [&str; 0] = [];

#[test]
fn what_is_allowed_is_not_reported() {
    for (module, text) in [
        (
            "circuit",
            "use crate::compile::{self, Compiled};\nuse crate::tensor::careful::Run;",
        ),
        (
            "compile::lower",
            "use super::plan::Plan;\nuse crate::tensor::{Graph, graph::Op};",
        ),
        (
            "compile",
            "use crate::compile::report::Report;\nuse crate::compile::ask::Level;",
        ),
        (
            "model::format::bif",
            "use super::super::network::Network; use super::lexer;",
        ),
        (
            "model",
            "//! See [`crate::compile`].\nfn f() {} // as crate::circuit does",
        ),
        (
            "vars",
            "#[cfg(test)]\nmod tests {\n    use crate::model::Network;\n}\n",
        ),
        ("learn", "use crate::circuit::Circuit;"),
    ] {
        assert_eq!(broken(module, text), NOTHING, "{module}: {text}");
    }
}

#[test]
fn what_points_the_wrong_way_is_reported() {
    for (module, text, path) in [
        (
            "model",
            "fn f() { crate::compile::width(&net) }",
            "compile::width",
        ),
        ("model", "use crate::Options;", "Options"),
        ("model", "use crate::*;", "*"),
        (
            "compile::plan",
            "use super::super::circuit::Options;",
            "circuit::Options",
        ),
        (
            "circuit",
            "use crate::learn::Trainer as T;",
            "learn::Trainer",
        ),
        (
            "vars",
            "#[cfg(test)]\nmod tests {\n    use super::*;\n}\nuse crate::model::Cpt;\n",
            "model::Cpt",
        ),
    ] {
        let expected = format!("`{module}` must not use `{path}`");
        assert_eq!(broken(module, text), [expected], "{text}");
    }
    assert_eq!(
        broken(
            "tensor::exec",
            "use crate::{\n    model::{Cpt, Network},\n    vars::VarId,\n};"
        ),
        [
            "`tensor::exec` must not use `model::Cpt`",
            "`tensor::exec` must not use `model::Network`"
        ]
    );
    assert_eq!(
        broken("brand_new", ""),
        ["say in the rules what `brand_new` may use"]
    );
}

#[test]
fn stages_go_one_way_and_do_not_go_through_the_top() {
    let allowed = "use crate::compile::prune::Pruned; use super::ask; use super::plan::thin;";
    assert_eq!(broken("compile::plan", allowed), NOTHING);
    for (text, path) in [
        ("use crate::compile::lower::lower;", "compile::lower::lower"),
        (
            "use crate::compile::{ask::Level, report};",
            "compile::report",
        ),
        ("use super::support;", "compile::support"),
        ("use crate::compile;", "compile"),
        ("use crate::compile::Planned;", "compile::Planned"),
    ] {
        let expected = format!("`compile::plan` must not use `{path}`");
        assert_eq!(broken("compile::plan", text), [expected], "{text}");
    }
    let through = [("compile::ask", "pub use crate::compile::report::Report;")];
    assert_eq!(
        broken_with(
            &through,
            "compile::plan",
            "use crate::compile::ask::Report;"
        ),
        ["`compile::plan` must not use `compile::ask::Report`"]
    );
    assert_eq!(
        broken("compile::new_stage::part", ""),
        ["say in the rules what `compile::new_stage::part` may use"]
    );
}

#[test]
fn executors_are_known_by_any_name() {
    let plain = [
        ("use crate::tensor::fast::Engine;", "tensor::fast::Engine"),
        (
            "use crate::tensor::{Graph, layout::Program};",
            "tensor::layout::Program",
        ),
        ("use crate::tensor;", "tensor"),
        ("use crate::tensor::*;", "tensor::*"),
        ("use crate::tensor::Engine;", "tensor::Engine"),
    ];
    for (text, path) in plain {
        let expected = format!("`compile::plan` must not use `{path}`, an executor");
        assert_eq!(broken("compile::plan", text), [expected], "{text}");
    }
    for exports in [
        "pub use fast::Engine;",
        "pub(crate) use self::fast::{Worker, Engine};",
        "pub use crate::tensor::fast::Worker as Engine;",
        "pub type Engine = fast::Engine<f64>;",
    ] {
        let found = broken_with(
            &[("tensor", exports), ("tensor::graph", "")],
            "draw",
            "use crate::tensor::Engine;",
        );
        let expected = ["`draw` must not use `tensor::Engine`, an executor"];
        assert_eq!(found, expected, "{exports}");
    }
    let hidden = [("tensor::graph", "pub use super::fast::Engine;")];
    assert_eq!(
        broken_with(
            &hidden,
            "compile::lower",
            "use crate::tensor::graph::Engine;"
        ),
        ["`compile::lower` must not use `tensor::graph::Engine`, an executor"]
    );
    assert_eq!(
        broken("tensor::graph::check", "use super::super::careful::Run;"),
        ["`tensor::graph::check` must not use `tensor::careful::Run`, an executor"]
    );
}

#[test]
fn reexports_are_followed_to_their_end() {
    let text = "pub use a::{self, b::C as D};\npub(crate) use crate::e::F;\nuse g::H;\n\
                pub struct S { pub used: u8 }\n";
    let known = reexports("m", text);
    let expected = [("m::D", "m::a::b::C"), ("m::F", "e::F")];
    let expected = expected.map(|(name, path)| (name.to_owned(), path.to_owned()));
    assert_eq!(known, BTreeMap::from(expected));
    let chain = [("x::Y", "m::D"), ("m::D", "m::a::b::C")];
    let chain = chain.map(|(name, path)| (name.to_owned(), path.to_owned()));
    assert_eq!(
        resolved("x::Y::new", &BTreeMap::from(chain)),
        "m::a::b::C::new"
    );
}

#[test]
fn the_command_goes_one_way_too() {
    let broken = |module, text: &str| COMMAND.broken(module, &code(text), &BTreeMap::new());
    assert_eq!(
        broken(
            "commands::query",
            "use crate::args::Reading; use super::scenes;"
        ),
        NOTHING
    );
    assert_eq!(
        broken("explore::api", "use crate::commands::{mpe, query};"),
        [
            "`explore::api` must not use `commands::mpe`",
            "`explore::api` must not use `commands::query`"
        ]
    );
    assert_eq!(
        broken("args", "use crate::commands::fit;"),
        ["`args` must not use `commands::fit`"]
    );
    assert_eq!(
        broken("data::csv", "use super::super::commands::eval;"),
        ["`data::csv` must not use `commands::eval`"]
    );
}
