//! Places the boxes of a binary tree: the root on the left, each level in a column, parents in the
//! middle between their children, and subtrees as close to each other as their outlines allow.

/// The space between two boxes of a column, and between two columns.
const ROW_GAP: f64 = 10.0;
const COLUMN_GAP: f64 = 44.0;

/// A node to be placed: the size of its box, and its children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub width: f64,
    pub height: f64,
    pub children: Option<(usize, usize)>,
}

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The left end and the middle of each box.
    pub places: Vec<(f64, f64)>,
    /// The right end of each box's column.
    pub ends: Vec<f64>,
    pub width: f64,
    pub height: f64,
}

/// The top and the bottom of a subtree, level by level, seen from the middle of its root.
type Outline = Vec<(f64, f64)>;

/// Places items, children before parents and the root last.
pub(crate) fn layout(items: &[Item]) -> Layout {
    let mut outlines: Vec<Outline> = vec![];
    let mut distances = vec![0.0; items.len()];
    for (index, item) in items.iter().enumerate() {
        let own = (-item.height / 2.0, item.height / 2.0);
        let mut outline = vec![own];
        if let Some((l, r)) = item.children {
            let (upper, lower) = (
                std::mem::take(&mut outlines[l]),
                std::mem::take(&mut outlines[r]),
            );
            distances[index] = distance(&upper, &lower);
            outline.extend(merged(&upper, &lower, distances[index] / 2.0));
        }
        outlines.push(outline);
    }
    let outline = outlines.pop().unwrap_or_default();
    let top = outline.iter().map(|level| level.0).fold(0.0, f64::min);
    let bottom = outline.iter().map(|level| level.1).fold(0.0, f64::max);
    let (lefts, ends) = columns(items)
        .into_iter()
        .unzip::<f64, f64, Vec<_>, Vec<_>>();
    let width = ends.iter().copied().fold(0.0, f64::max);
    Layout {
        places: places(items, &distances, -top, &lefts),
        ends,
        width,
        height: bottom - top,
    }
}

/// How far the middles of two subtrees must be apart.
fn distance(upper: &Outline, lower: &Outline) -> f64 {
    upper
        .iter()
        .zip(lower)
        .map(|(u, l)| u.1 - l.0 + ROW_GAP)
        .fold(0.0, f64::max)
}

fn merged(upper: &Outline, lower: &Outline, half: f64) -> Outline {
    let level = |k: usize| match (upper.get(k), lower.get(k)) {
        (Some(u), Some(l)) => (u.0 - half, l.1 + half),
        (Some(u), None) => (u.0 - half, u.1 - half),
        (None, Some(l)) => (l.0 + half, l.1 + half),
        (None, None) => (0.0, 0.0),
    };
    (0..upper.len().max(lower.len())).map(level).collect()
}

/// The depth of each node below the root.
fn depths(items: &[Item]) -> Vec<usize> {
    let mut depths = vec![0; items.len()];
    for (index, item) in items.iter().enumerate().rev() {
        if let Some((l, r)) = item.children {
            (depths[l], depths[r]) = (depths[index] + 1, depths[index] + 1);
        }
    }
    depths
}

/// The left and the right end of each node's column.
fn columns(items: &[Item]) -> Vec<(f64, f64)> {
    let depths = depths(items);
    let mut widths = vec![0.0f64; depths.iter().max().map_or(0, |d| d + 1)];
    for (item, &depth) in items.iter().zip(&depths) {
        widths[depth] = widths[depth].max(item.width);
    }
    let mut next = 0.0;
    let mut ends = vec![];
    for width in widths {
        ends.push((next, next + width));
        next += width + COLUMN_GAP;
    }
    depths.iter().map(|&depth| ends[depth]).collect()
}

fn places(items: &[Item], distances: &[f64], root: f64, lefts: &[f64]) -> Vec<(f64, f64)> {
    let mut middles = vec![root; items.len()];
    for (index, item) in items.iter().enumerate().rev() {
        if let Some((l, r)) = item.children {
            middles[l] = middles[index] - distances[index] / 2.0;
            middles[r] = middles[index] + distances[index] / 2.0;
        }
    }
    lefts.iter().copied().zip(middles).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_a_column_do_not_touch_and_parents_are_in_the_middle() {
        // Node 5 joins 0 and 1, 6 joins 2 and 3, 7 joins 5 and 6, and 8 joins 7 and 4.
        let children = [
            None,
            None,
            None,
            None,
            None,
            Some((0, 1)),
            Some((2, 3)),
            Some((5, 6)),
            Some((7, 4)),
        ];
        let items = children.map(|children| Item {
            width: 50.0,
            height: 20.0,
            children,
        });
        let Layout {
            places,
            width,
            height,
            ..
        } = layout(&items);
        assert_eq!(
            (width, height),
            (4.0 * 50.0 + 3.0 * COLUMN_GAP, 4.0 * 20.0 + 3.0 * ROW_GAP)
        );
        for (a, b) in [(0, 1), (1, 2), (2, 3), (5, 6), (7, 4)] {
            assert_eq!(places[a].0, places[b].0);
            assert!(places[b].1 - places[a].1 >= 20.0 + ROW_GAP);
        }
        for (parent, children) in children.iter().enumerate() {
            let Some((l, r)) = *children else { continue };
            assert_eq!(places[parent].1, (places[l].1 + places[r].1) / 2.0);
        }
    }
}
