// Variables by name: `pixel_0_0`, `pixel_0_1`, … are the group `pixel_*`, and in large networks `R_MED_AMP`, `R_MED_LAT`, … are `R_MED_*`.

/** The minimum size of a group. */
const LEAST = 6;

/** The minimum number of names without numbers to group by first word. */
const MANY = 100;

/** The groups of a model: {pattern, members: indices, grid: rows and columns of a picture, if they are one}. */
export function groupsOf(model) {
  const byStem = new Map();
  model.variables.forEach(({ name }, i) => {
    const stem = name.replace(/\d+/g, "#");
    if (stem === name) return;
    if (!byStem.has(stem)) byStem.set(stem, []);
    byStem.get(stem).push(i);
  });
  const groups = [];
  for (const [stem, members] of byStem) {
    if (members.length < LEAST) continue;
    const pattern = stem.replace(/#([^#]*#)*/, (run) => (/^#([_.,]#)*$/.test(run) ? "*" : run.replaceAll("#", "*")));
    groups.push({ pattern, members, grid: gridOf(model, members) });
  }
  const grouped = new Set(groups.flatMap((group) => group.members));
  const rest = [...model.variables.keys()].filter((i) => !grouped.has(i));
  if (rest.length >= MANY) groups.push(...byWords(model, rest, 1, Math.max(LEAST, rest.length / 8)));
  return groups.sort((a, b) => b.members.length - a.members.length);
}

/** Variables whose names begin with the same words, as in `R_MED_*`; what is larger than `most` is split by one word more. */
function byWords(model, members, words, most) {
  const byStart = new Map();
  for (const i of members) {
    const start = new RegExp(`^([^_.]+[_.]){${words}}`).exec(model.variables[i].name)?.[0];
    if (!start) continue;
    if (!byStart.has(start)) byStart.set(start, []);
    byStart.get(start).push(i);
  }
  const large = [...byStart].filter(([, all]) => all.length >= LEAST);
  return large.flatMap(([start, all]) => (all.length > most ? byWords(model, all, words + 1, most) : [{ pattern: `${start}*`, members: all, grid: null }]));
}

/** A picture: names end in all pairs of a row and a column, all have the same two values, and none is a function. */
function gridOf(model, members) {
  const cells = members.map((i) => /(\d+)_(\d+)$/.exec(model.variables[i].name));
  const values = model.variables[members[0]].values;
  const isSame = (i) => model.variables[i].values.join("\n") === values.join("\n") && !model.variables[i].functional;
  if (values.length !== 2 || members.length < 16 || !cells.every(Boolean) || !members.every(isSame)) return null;
  const rows = 1 + Math.max(...cells.map((cell) => Number(cell[1])));
  const columns = 1 + Math.max(...cells.map((cell) => Number(cell[2])));
  if (rows * columns !== members.length) return null;
  const at = new Array(rows * columns);
  cells.forEach((cell, k) => { at[Number(cell[1]) * columns + Number(cell[2])] = members[k]; });
  return at.includes(undefined) ? null : { rows, columns, at, on: values[0], off: values[1] };
}

/** The edges of a model, parents first. The factors of a Markov network join all their variables. */
export function edgesOf(model) {
  if (!model.markov) return model.variables.flatMap((v, i) => v.parents.map((p) => [p, i]));
  const seen = new Set();
  for (const scope of model.factors) {
    scope.forEach((a, k) => scope.slice(k + 1, k + 8).forEach((b) => seen.add(a < b ? `${a},${b}` : `${b},${a}`)));
  }
  return [...seen].map((key) => key.split(",").map(Number));
}

/** The groups to fold at first: those that leave a graph without cycles, so that what is folded is side by side. */
export function foldedAtFirst(model, groups) {
  const edges = edgesOf(model);
  const folded = new Set();
  for (const group of groups.filter((g) => g.members.length >= 8)) {
    if (isAcyclic(fold(model, groups, new Set([...folded, group.pattern]), edges))) folded.add(group.pattern);
  }
  return folded;
}

/** The graph that is drawn: single variables, and folded groups; edges between them, each once. */
export function fold(model, groups, folded, edges = edgesOf(model)) {
  const nodes = [];
  const place = new Array(model.variables.length).fill(-1);
  for (const group of groups.filter((g) => folded.has(g.pattern))) {
    group.members.forEach((i) => { place[i] = nodes.length; });
    nodes.push({ group });
  }
  model.variables.forEach((variable, i) => {
    if (place[i] >= 0) return;
    place[i] = nodes.length;
    nodes.push({ variable, i });
  });
  const seen = new Set();
  const joined = [];
  for (const [a, b] of edges) {
    const [u, v] = [place[a], place[b]];
    const key = u * nodes.length + v;
    if (seen.has(key)) continue;
    seen.add(key);
    joined.push([u, v]);
  }
  return { nodes, edges: joined, place };
}

function isAcyclic({ nodes, edges }) {
  if (edges.some(([u, v]) => u === v)) return false;
  const waiting = new Array(nodes.length).fill(0);
  const next = nodes.map(() => []);
  edges.forEach(([u, v]) => { waiting[v] += 1; next[u].push(v); });
  const ready = [...waiting.keys()].filter((v) => waiting[v] === 0);
  let done = 0;
  while (ready.length > 0) {
    done += 1;
    for (const v of next[ready.pop()]) if (--waiting[v] === 0) ready.push(v);
  }
  return done === nodes.length;
}
