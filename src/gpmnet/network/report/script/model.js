"use strict";
// The data as objects: nodes and pairs that know each other, and the grid behind each pair.
(() => {
  const { nodes, pairs, shapes } = gpm.data;
  // What half-samples say, where any were drawn.
  const RESAMPLED = ["stability", "stability_forward", "stability_backward"].filter((key) => key in pairs);

  for (const axis of Object.values(shapes.axes)) axis.labels ??= axis.values.map((value) => String(Number(value.toPrecision(4))));

  gpm.nodes = nodes.name.map((name, at) => ({
    at,
    id: `n${at}`,
    name,
    label: gpm.short(name, 24),
    kind: nodes.kind[at],
    degree: nodes.degree[at],
    community: nodes.community[at],
    strength: nodes.strength[at],
    influence: nodes.expected_influence[at],
    bridge: nodes.bridge[at],
    x: nodes.x[at],
    y: nodes.y[at],
    missing: nodes.missing[at],
    why: nodes.why[at],
    range: nodes.range[at],
    notes: nodes.notes[at],
    pairs: [],
  }));

  gpm.pairs = pairs.a.map((a, at) => ({
    at,
    id: `e${at}`,
    a: gpm.nodes[a],
    b: gpm.nodes[pairs.b[at]],
    isEdge: pairs.edge[at] === 1,
    omega: pairs.omega[at],
    strength: pairs.strength[at],
    strength_low: pairs.strength_low[at],
    strength_high: pairs.strength_high[at],
    sign: pairs.sign[at],
    p_value: pairs.p_value[at],
    q_value: pairs.q_value[at],
    marginal: pairs.marginal[at],
    n_rows: pairs.n_rows[at],
    ...Object.fromEntries(RESAMPLED.map((key) => [key, pairs[key][at]])),
    weight: pairs.strength[at] ?? pairs.omega[at] ?? 0,
    says: pairs.says[at],
    rests: pairs.rests ? pairs.rests[at] : null,
  }));
  for (const pair of gpm.pairs) {
    pair.a.pairs.push(pair);
    pair.b.pairs.push(pair);
  }
  gpm.heaviest = gpm.pairs.reduce((most, pair) => Math.max(most, pair.weight), 0) || 1;
  gpm.hasStrength = gpm.pairs.some((pair) => pair.strength !== null);
  gpm.hasNear = gpm.pairs.some((pair) => !pair.isEdge);
  gpm.hasMarginal = gpm.pairs.some((pair) => pair.marginal !== null);
  gpm.hasQ = gpm.pairs.some((pair) => pair.q_value !== null);
  gpm.resampled = RESAMPLED;
  gpm.hasDirections = Boolean(pairs.rests);
  gpm.rowsDiffer = gpm.pairs.some((pair) => pair.n_rows !== null && pair.n_rows !== gpm.data.n_rows);
  gpm.kinds = ["continuous", "ordinal", "discrete", "unknown"].filter((kind) => nodes.kind.includes(kind));

  const sizes = new Map();
  for (const node of gpm.nodes) sizes.set(node.community, (sizes.get(node.community) || 0) + 1);
  // Seven communities get a colour of their own; they are numbered by size.
  const PALETTE = gpm.palette("blue orange green pink red sky yellow");
  gpm.communities = [...sizes].filter(([label, size]) => size > 1 && label < PALETTE.length).map(([label]) => label);
  gpm.communities.sort((a, b) => a - b);
  gpm.communityColour = (label) => (sizes.get(label) > 1 && PALETTE[label]) || gpm.colour("no-sign");

  // A weight is a strength, or Omega where a method has no strength.
  gpm.weight = (pair) => (pair.strength === null ? gpm.number(pair.weight) : gpm.strength(pair.strength));

  // How a pair goes together with nothing given, as `marginal_text` and `flips` in text.py.
  gpm.marginal = ({ marginal }) => (marginal === null ? "" : marginal.toFixed(2).replace("-", "−"));
  gpm.flips = ({ sign, marginal }) => sign * marginal < 0 && Math.abs(marginal) >= 0.1;
  gpm.marginalSays = (pair) =>
    pair.marginal === null ? "" : `With nothing given ${gpm.flips(pair) ? "it is the other way round: " : ""}their rank correlation is ${gpm.marginal(pair)}.`;

  gpm.other = (pair, node) => (pair.a === node ? pair.b : pair.a);

  // The interaction of a pair on its grid, row by row over (a, b); null where none was estimated.
  gpm.shape = (pair) => {
    const grid = shapes.grids[pair.at];
    if (!grid) return null;
    const bytes = Int8Array.from(atob(grid.bytes), (letter) => (letter.charCodeAt(0) << 24) >> 24);
    const [x, y] = [shapes.axes[pair.a.at], shapes.axes[pair.b.at]];
    const value = (i, j) => (bytes[i * y.labels.length + j] * grid.scale) / 127;
    const numeric = (x.values.length > 0) + (y.values.length > 0);
    return { x, y, value, scale: grid.scale, form: ["table", "lines", "surface"][numeric] };
  };
})();
