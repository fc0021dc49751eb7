//! Rectangles: where one is, how large, whether it is tall or wide, and which pixels it covers.

use crate::error::Result;
use crate::model::network::Network;
use crate::model::paper::{MAX_ROWS, Variant, values, within};

/// An n × n image of a rectangle: where it is, how large, whether it is tall or wide, and its noisy
/// pixels.
pub fn rect(n: usize, variant: Variant) -> Result<Network> {
    within(format!("rect:{n}"), "rows of pixels", n, 2, MAX_ROWS)?;
    variant.check()?;
    let mut b = Network::builder(format!("rect{n}"));
    let origins = ["row", "col"].map(|name| b.uniform(name, 0..n));
    let mut sizes = ["height", "width"].map(|name| b.variable(name, values(1..=n)));
    for (size, origin) in sizes.iter_mut().zip(origins) {
        b.constraint(*size, [origin], |s| s[0] + s[1] < n)
            .keep_zeros();
    }
    let label = b.variable("label", ["tall", "wide"]);
    b.constraint(label, sizes, |s| {
        if s[2] == 0 {
            s[0] >= s[1]
        } else {
            s[1] >= s[0]
        }
    })
    .fixed();
    let mut lines = vec![];
    for i in 0..n {
        let covers = |u: &[usize]| (u[0]..=u[0] + u[1]).contains(&i);
        lines.push([0, 1].map(|k| {
            b.switch(
                format!("{}_{i}", ["r", "c"][k]),
                &[origins[k], sizes[k]],
                covers,
            )
        }));
    }
    for i in 0..n {
        for j in 0..n {
            let parents = [lines[i][0], lines[j][1]];
            b.pixel(format!("pixel_{i}_{j}"), &parents, variant.noise, |u| {
                u == [0, 0]
            });
        }
    }
    if variant.trainable {
        b.forget();
        b.change_roles(|role| role.functional = false);
    }
    b.build()
}
