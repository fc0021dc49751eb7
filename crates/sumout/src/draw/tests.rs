use crate::{Network, Options, Query};

fn tree(model: &str, query: Query) -> super::Jointree {
    let net = Network::read(model).unwrap();
    let plan = net
        .plan(
            &query,
            &Options {
                effort: 0.001,
                ..Options::default()
            },
        )
        .unwrap();
    plan.jointree()
}

#[test]
fn every_node_is_drawn_unless_there_are_too_many() {
    let asia = tree("asia", Query::of("lung").given(["xray", "dysp"]));
    let boxes = |svg: &str| svg.matches("<rect class=\"box").count() - 3; // the legend has three
    assert_eq!(boxes(&asia.svg()), asia.nodes.len());
    assert_eq!(asia.dot().matches(" -> ").count(), asia.nodes.len() - 1);
    let rect = tree("rect:12", Query::of("label").given(["pixel_*"]));
    assert!(rect.nodes.len() > 300);
    assert_eq!(
        boxes(&rect.svg()),
        300 - usize::from(rect.nodes.len() % 2 == 1)
    );
    assert!(rect.svg().contains("are left out; largest separator"));
    assert_eq!(rect.dot().matches(" -> ").count(), rect.nodes.len() - 1);
}

#[test]
fn dropped_variables_are_red() {
    let digits = tree("digits:8", Query::of("d").given(["p_*"]));
    assert!(digits.nodes.iter().any(|node| !node.dropped.is_empty()));
    assert!(digits.svg().contains("<tspan class=\"d\">"));
    assert!(digits.dot().contains("<FONT COLOR=\"#c1121f\"><I>"));
}

#[test]
fn names_may_have_characters_that_mean_something_elsewhere() {
    let mut b = Network::builder("a \"<b>\" & c");
    let [x, z] = ["x<y>\"&", "z"].map(|name| b.variable(name, ["t", "f"]));
    b.table(x, [], [0.5, 0.5]);
    b.table(z, [x], [0.5, 0.5, 0.1, 0.9]);
    let net = b.build().unwrap();
    let plan = net
        .plan(&Query::of("x<y>\"&").given(["z"]), &Options::default())
        .unwrap();
    assert!(plan.jointree().svg().contains("f(x&lt;y&gt;&quot;&amp;"));
    assert!(
        plan.jointree()
            .dot()
            .starts_with("digraph \"a \\\"<b>\\\" & c\" {")
    );
    assert!(
        plan.network_dot()
            .contains("[label=\"x<y>\\\"&\", fillcolor=\"#ffd8a8\", peripheries=1]")
    );
}
