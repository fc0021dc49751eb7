// Places the nodes of a directed graph in layers, parents above children, with few crossings and short edges.
//
// Layers have a bounded width (after Coffman and Graham); of several widths the one is taken that can be shown largest in
// the window, and has few crossings. Long edges bend around nodes in between. Orders come from barycentres and exchanges of
// neighbours, places from exact projections onto the least distances.

/** The least distances of nodes, of layers, and of edges that pass beside one another. */
const GAP = { x: 22, y: 40, bend: 12 };

/** Widths of the layers to try, relative to the width that would fill the window if nodes were all. */
const WIDTHS = [0.42, 0.56, 0.75, 1, 1.3, 1.7, 2.3, 3.2];

/** Larger graphs are laid out with fewer widths. */
const [LARGE, VERY_LARGE] = [120, 300];

/** The most that a picture is stretched to fill its window. */
const STRETCH = { x: 1.6, y: 2 };

/** Clarity is worth a smaller picture, up to this part; a bend counts as this part of a crossing. */
const CLARITY = 0.4;
const BEND = 0.25;

/**
 * `sizes` are [width, height], `room` is the window and the largest scale it is shown at. Returns {x, y} of middles, and for
 * each edge the points that it passes.
 */
export function layered(sizes, edges, room = { width: 1000, height: 750, scale: 1.15 }, gap = GAP) {
  const graph = directed(sizes.length, edges);
  const area = sizes.reduce((sum, [w, h]) => sum + (w + gap.x) * (h + gap.y), 0);
  const ideal = Math.max(Math.sqrt((area * room.width) / room.height), ...sizes.slice(0, 1).map(([w]) => w));
  let best = null;
  for (const factor of widths(sizes.length)) {
    const drawn = arranged(graph, sizes, factor * ideal, gap);
    const trouble = drawn.crossings + BEND * (drawn.net.nodes.length - sizes.length);
    drawn.score = scaleOf(drawn.box, room) * (1 - (CLARITY * trouble) / (trouble + edges.length + 1));
    if (!best || drawn.score > best.score) best = drawn;
  }
  return finished(best, sizes, edges, room, gap);
}

function widths(n) {
  if (n > VERY_LARGE) return [1, 1.7];
  return n > LARGE ? WIDTHS.filter((_, k) => k % 2 === 1) : WIDTHS;
}

/** The scale at which a picture fills a window. */
export const scaleOf = ({ left, right, top, bottom }, { width, height, scale }) =>
  Math.min(width / Math.max(1, right - left), height / Math.max(1, bottom - top), scale);

function arranged(graph, sizes, most, gap) {
  const net = { ...bent(graph, layers(graph, sizes, most, gap), sizes), gap };
  const { rows, crossings: found } = ordered(net);
  const x = spread(net, rows);
  return { net, rows, x, crossings: found, box: placed(net, x, heights(net, rows, gap.y).middles, sizes).box };
}

/** Stretches a picture to fill its window, where one side has room left, and draws its edges. */
function finished({ net, rows, x, box }, sizes, edges, room, gap) {
  const k = scaleOf(box, room);
  const wide = Math.min(STRETCH.x, Math.max(1, room.width / k / Math.max(1, box.right - box.left)));
  const spare = room.height / k - box.bottom;
  const tall = rows.length > 1 ? Math.min(STRETCH.y * gap.y, gap.y + Math.max(0, spare / (rows.length - 1))) : gap.y;
  const [xs, y] = [x.map((at) => wide * at), heights(net, rows, tall)];
  return { ...placed(net, xs, y.middles, sizes), edges: routes(net, xs, y, sizes, edges) };
}

/** Edges without loops, those that close a cycle turned round. */
function directed(n, edges) {
  const out = Array.from({ length: n }, () => []);
  edges.forEach(([u, v], e) => { if (u !== v) out[u].push([v, e]); });
  const colour = new Uint8Array(n);
  const turned = new Set();
  for (let root = 0; root < n; root += 1) {
    if (colour[root] !== 0) continue;
    const stack = [[root, 0]];
    colour[root] = 1;
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const arc = out[top[0]][top[1]++];
      if (!arc) {
        colour[top[0]] = 2;
        stack.pop();
      } else if (colour[arc[0]] === 1) {
        turned.add(arc[1]);
      } else if (colour[arc[0]] === 0) {
        colour[arc[0]] = 1;
        stack.push([arc[0], 0]);
      }
    }
  }
  const arcs = [];
  edges.forEach(([u, v], e) => { if (u !== v) arcs.push(turned.has(e) ? { u: v, v: u, e, turned: true } : { u, v, e }); });
  return { n, arcs };
}

/** A layer for each node; the nodes of a layer are not wider than `most`. */
function layers({ n, arcs }, sizes, most, gap) {
  const [up, down] = [Array.from({ length: n }, () => []), Array.from({ length: n }, () => [])];
  arcs.forEach(({ u, v }) => { up[v].push(u); down[u].push(v); });
  const order = topological(n, up, down);
  const depth = new Array(n).fill(0); // the longest way to a leaf
  [...order].reverse().forEach((v) => down[v].forEach((w) => { depth[v] = Math.max(depth[v], depth[w] + 1); }));
  const layer = new Array(n).fill(0);
  const used = [];
  const room = (l, v) => (used[l] ?? 0) === 0 || used[l] + sizes[v][0] + gap.x <= most;
  const take = (l, v, sign = 1) => { used[l] = (used[l] ?? 0) + sign * (sizes[v][0] + gap.x); };
  const first = new Array(n).fill(0);
  const waiting = up.map((parents) => parents.length);
  const later = (a, b) => first[b] - first[a] || depth[a] - depth[b] || b - a;
  const ready = [...waiting.keys()].filter((v) => waiting[v] === 0).sort(later);
  while (ready.length > 0) {
    const v = ready.pop();
    let l = first[v];
    while (!room(l, v)) l += 1;
    layer[v] = l;
    take(l, v);
    for (const w of down[v]) {
      first[w] = Math.max(first[w], l + 1);
      if (--waiting[w] === 0) insert(ready, w, later);
    }
  }
  for (const v of [...order].reverse()) pull(v);
  return layer;

  /** Moves a node down towards its children, if more edges lead down than up. */
  function pull(v) {
    if (down[v].length <= up[v].length) return;
    const lowest = Math.min(...down[v].map((w) => layer[w])) - 1;
    for (let l = lowest; l > layer[v]; l -= 1) {
      if (!room(l, v)) continue;
      take(layer[v], v, -1);
      take(l, v);
      layer[v] = l;
    }
  }
}

/** Keeps a list sorted. */
function insert(list, item, order) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(list[middle], item) < 0) low = middle + 1;
    else high = middle;
  }
  list.splice(low, 0, item);
}

function topological(n, up, down) {
  const waiting = up.map((parents) => parents.length);
  const order = [...waiting.keys()].filter((v) => waiting[v] === 0);
  for (let k = 0; k < order.length; k += 1) {
    for (const w of down[order[k]]) if (--waiting[w] === 0) order.push(w);
  }
  return order;
}

/** The graph with bends, so that every edge joins neighbouring layers. */
function bent({ n, arcs }, layer, sizes) {
  const nodes = layer.map((l, v) => ({ layer: l, width: sizes[v][0], height: sizes[v][1], up: [], down: [] }));
  const spans = arcs.map(({ u, v }) => layer[v] - layer[u] - 1);
  const most = Math.max(1200, 2 * n); // more bends than nodes would make all layers wide: the longest edges go straight
  let limit = spans.reduce((a, b) => Math.max(a, b), 0);
  while (spans.reduce((sum, span) => sum + (span <= limit ? span : 0), 0) > most) limit -= 1;
  const chains = arcs.map(({ u, v }, k) => {
    const chain = [u];
    for (let l = layer[u] + 1; l < layer[v] && spans[k] <= limit; l += 1) {
      chain.push(nodes.length);
      nodes.push({ layer: l, width: 2, height: 0, isBend: true, up: [], down: [] });
    }
    chain.push(v);
    for (let i = 1; i < chain.length; i += 1) {
      nodes[chain[i - 1]].down.push(chain[i]);
      nodes[chain[i]].up.push(chain[i - 1]);
    }
    return chain;
  });
  return { n, nodes, arcs, chains };
}

/** Graphs with more nodes and bends are ordered by barycentres alone. */
const EXCHANGED = 1500;

/** The order of each layer: barycentres from above and below in turn, then exchanges; the best of all rounds. */
function ordered({ nodes }) {
  const count = 1 + Math.max(0, ...nodes.map((node) => node.layer));
  let rows = Array.from({ length: count }, () => []);
  const seen = new Uint8Array(nodes.length);
  const visit = (root) => {
    const stack = [root];
    while (stack.length > 0) {
      const v = stack.pop();
      if (seen[v]) continue;
      seen[v] = 1;
      rows[nodes[v].layer].push(v);
      stack.push(...nodes[v].up.filter((w) => !seen[w]), ...nodes[v].down.filter((w) => !seen[w]).reverse());
    }
  };
  nodes.forEach((node, v) => { if (node.up.length === 0) visit(v); });
  nodes.forEach((_, v) => visit(v));
  const at = new Float64Array(nodes.length);
  const number = (row) => row.forEach((v, k) => { at[v] = k; });
  rows.forEach(number);
  let best = { crossings: crossings(nodes, rows, at), rows: rows.map((row) => [...row]) };
  const rounds = nodes.length > 3000 ? 6 : 16;
  for (let round = 0; round < rounds && best.crossings > 0; round += 1) {
    const side = round % 2 === 0 ? "up" : "down";
    const sequence = side === "up" ? rows : [...rows].reverse();
    for (const row of sequence) {
      const weight = new Map(row.map((v) => [v, mean(nodes[v][side].map((w) => at[w]), at[v])]));
      row.sort((a, b) => weight.get(a) - weight.get(b) || at[a] - at[b]);
      number(row);
    }
    if (nodes.length <= EXCHANGED) exchange(nodes, rows, at);
    const found = crossings(nodes, rows, at);
    if (found < best.crossings) best = { crossings: found, rows: rows.map((row) => [...row]) };
  }
  return best;
}

/** Exchanges neighbours while that removes crossings. */
function exchange(nodes, rows, at) {
  for (let pass = 0, isBetter = true; isBetter && pass < 6; pass += 1) {
    isBetter = false;
    for (const row of rows) {
      for (let i = 1; i < row.length; i += 1) {
        const [u, v] = [row[i - 1], row[i]];
        if (crossed(nodes[u], nodes[v], at) <= crossed(nodes[v], nodes[u], at)) continue;
        [row[i - 1], row[i], at[u], at[v]] = [v, u, i, i - 1];
        isBetter = true;
      }
    }
  }
}

/** How often the edges of two neighbours cross, if the first is on the left. */
function crossed(u, v, at) {
  let total = 0;
  for (const a of u.up) for (const b of v.up) total += at[a] > at[b] ? 1 : 0;
  for (const a of u.down) for (const b of v.down) total += at[a] > at[b] ? 1 : 0;
  return total;
}

const mean = (numbers, otherwise) =>
  numbers.length === 0 ? otherwise : numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** How many pairs of edges between neighbouring layers cross, by inserting ends into a Fenwick tree. */
function crossings(nodes, rows, at) {
  let total = 0;
  for (let l = 1; l < rows.length; l += 1) {
    const tree = new Int32Array(rows[l].length + 1);
    let inserted = 0;
    for (const u of rows[l - 1]) {
      const ends = nodes[u].down.filter((w) => nodes[w].layer === l).map((w) => at[w]);
      for (const end of ends) {
        let before = 0;
        for (let i = end + 1; i > 0; i -= i & -i) before += tree[i];
        total += inserted - before;
      }
      for (const end of ends) {
        for (let i = end + 1; i < tree.length; i += i & -i) tree[i] += 1;
        inserted += 1;
      }
    }
  }
  return total;
}

/** Horizontal places: each layer as near as possible to the middles of its neighbours, without overlaps. */
function spread({ nodes, gap }, rows) {
  const x = new Float64Array(nodes.length);
  const apart = (a, b) => (nodes[a].width + nodes[b].width) / 2 + (nodes[a].isBend && nodes[b].isBend ? gap.bend : gap.x);
  for (const row of rows) {
    let left = 0;
    row.forEach((v, k) => { left += k === 0 ? 0 : apart(row[k - 1], v); x[v] = left; });
    row.forEach((v) => { x[v] -= left / 2; });
  }
  const rounds = nodes.length > 3000 ? 8 : 24;
  for (let round = 0; round < rounds; round += 1) {
    const sides = round >= rounds - 2 ? ["up", "down"] : [round % 2 === 0 ? "up" : "down"];
    const sequence = round % 2 === 0 ? rows : [...rows].reverse();
    for (const row of sequence) project(row, (v) => {
      const near = sides.flatMap((side) => nodes[v][side]);
      return [mean(near.map((w) => x[w]), x[v]), nodes[v].isBend ? 4 : 0.2 + near.length];
    });
  }
  return x;

  /** The places nearest to what is wished, by weight, in order and apart: pools adjacent violators. */
  function project(row, wish) {
    const blocks = [];
    let offset = 0;
    row.forEach((v, k) => {
      offset += k === 0 ? 0 : apart(row[k - 1], v);
      const [wanted, weight] = wish(v);
      let block = { sum: weight * (wanted - offset), weight, members: [[v, offset]] };
      while (blocks.length > 0 && blocks.at(-1).sum / blocks.at(-1).weight >= block.sum / block.weight) {
        const last = blocks.pop();
        last.members.push(...block.members);
        block = { sum: last.sum + block.sum, weight: last.weight + block.weight, members: last.members };
      }
      blocks.push(block);
    });
    for (const { sum, weight, members } of blocks) members.forEach(([v, at]) => { x[v] = sum / weight + at; });
  }
}

function heights({ nodes }, rows, gap) {
  const [middles, halves] = [[], []];
  let top = 0;
  for (const row of rows) {
    const height = Math.max(0, ...row.map((v) => nodes[v].height));
    middles.push(top + height / 2);
    halves.push(height / 2);
    top += height + gap;
  }
  return { middles, halves };
}

function placed({ n, nodes }, x, y, sizes) {
  const left = nodes.reduce((least, { width }, v) => Math.min(least, x[v] - width / 2), Infinity);
  const right = nodes.reduce((most, { width }, v) => Math.max(most, x[v] + width / 2), -Infinity);
  const places = Array.from({ length: n }, (_, v) => ({ x: x[v], y: y[nodes[v].layer] }));
  const bottom = Math.max(...places.map((p, v) => p.y + sizes[v][1] / 2), 0);
  return { places, box: { left, right, top: 0, bottom } };
}

/** The points of each edge from its parent to its child; none of loops. */
function routes({ nodes, arcs, chains }, x, y, sizes, edges) {
  const points = edges.map(() => []);
  arcs.forEach(({ e, turned }, k) => {
    const chain = chains[k];
    const last = chain.length - 1;
    const route = chain.flatMap((v, i) => {
      const { layer } = nodes[v];
      const at = (shift) => [x[v], y.middles[layer] + shift];
      const isLow = y.halves[layer] > sizes[v]?.[1] / 2 + 1; // in a layer with taller ones: first straight past them
      if (i === 0) return [at(sizes[v][1] / 2), ...(isLow ? [at(y.halves[layer])] : [])];
      if (i === last) return [...(isLow ? [at(-y.halves[layer])] : []), at(-sizes[v][1] / 2)];
      return [at(-y.halves[layer]), at(y.halves[layer])]; // straight past its layer
    });
    points[e] = turned ? route.reverse() : route;
  });
  return points;
}
