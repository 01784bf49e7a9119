"use strict";
// The shape of one dependence, as SVG: a heatmap (two numbers), lines (a number and categories) or bars (categories).
(() => {
  const WIDTH = 360;
  const LINE_COLOURS = gpm.palette("blue red green pink orange sky grey yellow");
  const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
  const MOST = Math.log(100); // beyond a factor of 100 either way the picture says no more
  const factor = (value) => {
    if (Math.abs(value) > MOST) return value > 0 ? "> ×100" : "< ×0.01";
    return `×${gpm.number(Number(Math.exp(value).toPrecision(2)))}`;
  };
  // Round factors for a scale of logarithms: the largest that fits, one about half as far, and their inverses.
  const roundFactors = (scale) => {
    const largest = (reach) => [1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100].filter((f) => Math.log(f) <= reach + 1e-9).pop();
    const found = [largest(scale), largest(scale * 0.6)].filter(Boolean).map(Math.log);
    return [...new Set([0, ...found, ...found.map((value) => -value)])];
  };
  const text = (x, y, words, attributes = {}) => gpm.svg("text", { x, y, ...attributes }, words);
  const frame = (height, label) =>
    gpm.svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });

  const diverging = (value, scale) => {
    const share = scale ? Math.min(1, Math.abs(value) / scale) ** 0.8 : 0; // so that the middle can be told apart
    return gpm.mix(gpm.colour("middle"), gpm.colour(value > 0 ? "positive" : "negative"), share);
  };

  // Edges of the cells around increasing grid points.
  const borders = (values) => {
    const middle = values.slice(1).map((value, at) => (value + values[at]) / 2);
    return [values[0], ...middle, values[values.length - 1]];
  };

  // About `most` marks among the points of an axis, with their printed labels.
  const marks = (axis, most) => {
    const n = axis.labels.length;
    const step = Math.max(1, (n - 1) / Math.max(1, Math.min(most, n) - 1));
    const picked = new Set();
    for (let at = 0; at <= n - 1 + 1e-9; at += step) picked.add(Math.round(at));
    return [...picked].map((at) => ({ at, label: gpm.short(axis.labels[at], 11) }));
  };

  // Where the points of an axis stand between two ends: numbers by value, categories evenly.
  const placed = (axis, from, to) => {
    const n = axis.labels.length;
    if (!axis.values.length) {
      const step = (to - from) / n;
      return { edge: (at) => from + at * step, point: (at) => from + (at + 0.5) * step };
    }
    const [low, high] = [axis.values[0], axis.values[n - 1]];
    const scale = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
    const cuts = borders(axis.values);
    return { edge: (at) => scale(cuts[at]), point: (at) => scale(axis.values[at]) };
  };

  const colourBar = (scale, y) => {
    const parts = 40;
    const bar = gpm.svg("g");
    for (let at = 0; at < parts; at++) {
      const value = ((at + 0.5) / parts) * 2 * scale - scale;
      bar.append(gpm.svg("rect", { x: 120 + at * 3, y, width: 3.2, height: 9, fill: diverging(value, scale) }));
    }
    bar.append(text(114, y + 8, `rarer, ${factor(-scale)}`, { "text-anchor": "end" }));
    bar.append(text(246, y + 8, `${factor(scale)}, more often`));
    return bar;
  };

  const tiles = (pair, shape) => {
    const [left, right, top, bottom] = [66, WIDTH - 8, 20, 270];
    const svg = frame(340, `Heatmap of ${gpm.plain(pair.a.name)} and ${gpm.plain(pair.b.name)}. ${gpm.plain(pair.says)}`);
    const [x, y] = [placed(shape.x, left, right), placed(shape.y, bottom, top)];
    const cells = gpm.svg("g", { "shape-rendering": "crispEdges" });
    for (let i = 0; i < shape.x.labels.length; i++) {
      for (let j = 0; j < shape.y.labels.length; j++) {
        const value = shape.value(i, j);
        const said = `${gpm.short(shape.x.labels[i], 30)}, ${gpm.short(shape.y.labels[j], 30)}: ${factor(value)}`;
        cells.append(
          gpm.svg(
            "rect",
            {
              x: x.edge(i), y: y.edge(j + 1), width: Math.max(0.5, x.edge(i + 1) - x.edge(i)),
              height: Math.max(0.5, y.edge(j) - y.edge(j + 1)), fill: diverging(value, shape.scale),
            },
            gpm.svg("title", {}, said),
          ),
        );
      }
    }
    svg.append(cells);
    for (const { at, label } of spread(marks(shape.x, 5), x.point, 52)) {
      const anchor = x.point(at) > right - 22 ? "end" : x.point(at) < left + 12 ? "start" : "middle";
      svg.append(text(x.point(at), bottom + 15, label, { "text-anchor": anchor }));
    }
    for (const { at, label } of spread(marks(shape.y, shape.y.values.length ? 5 : 12), y.point, 15)) {
      svg.append(text(left - 6, y.point(at) + 4, label, { "text-anchor": "end" }));
    }
    svg.append(text((left + right) / 2, bottom + 34, gpm.short(pair.a.name, 40), { class: "strong", "text-anchor": "middle" }));
    svg.append(text(left, 12, gpm.short(pair.b.name, 40), { class: "strong" }));
    svg.append(colourBar(shape.scale, 322));
    return svg;
  };

  // Marks that keep a distance from the one before.
  const spread = (all, point, apart) => {
    const kept = [];
    for (const mark of all) {
      if (!kept.length || Math.abs(point(mark.at) - point(kept[kept.length - 1].at)) >= apart) kept.push(mark);
    }
    return kept;
  };

  const lines = (pair, shape) => {
    const numberFirst = shape.x.values.length > 0;
    const [axis, groups] = numberFirst ? [shape.x, shape.y] : [shape.y, shape.x];
    const value = numberFirst ? shape.value : (i, j) => shape.value(j, i);
    const [numeric, category] = numberFirst ? [pair.a, pair.b] : [pair.b, pair.a];
    const [left, right, top, bottom] = [52, WIDTH - 10, 12, 210];
    const x = placed(axis, left, right);
    const scale = shape.scale || 1;
    const y = (at) => (top + bottom) / 2 - Math.max(-1, Math.min(1, at / scale)) * ((bottom - top) / 2 - 4);
    const order = groups.labels.map((_, at) => at);
    const reach = (at) => Math.max(...axis.labels.map((_, i) => Math.abs(value(i, at))));
    const drawn = order.sort((a, b) => reach(b) - reach(a)).slice(0, LINE_COLOURS.length).sort((a, b) => a - b);
    const across = drawn.some((at) => groups.labels[at].length > 18) ? 1 : 2; // entries of the legend in a row
    const rows = Math.ceil(drawn.length / across);
    const svg = frame(258 + rows * 18, `One line a category of ${gpm.plain(category.name)}. ${gpm.plain(pair.says)}`);
    for (const level of roundFactors(scale)) {
      svg.append(gpm.svg("line", { x1: left, x2: right, y1: y(level), y2: y(level), stroke: gpm.colour("line"), "stroke-width": level ? 1 : 2 }));
      svg.append(text(left - 6, y(level) + 4, factor(level), { "text-anchor": "end" }));
    }
    drawn.forEach((at, rank) => {
      const points = axis.labels.map((_, i) => `${x.point(i).toFixed(1)},${y(value(i, at)).toFixed(1)}`).join(" ");
      const look = { fill: "none", stroke: LINE_COLOURS[rank], "stroke-width": 2.5, "stroke-dasharray": DASHES[rank % 4] || null };
      svg.append(gpm.svg("polyline", { points, ...look }, gpm.svg("title", {}, gpm.plain(groups.labels[at]))));
      const [kx, ky] = [left + (rank % across) * 160, 262 + Math.floor(rank / across) * 18];
      svg.append(gpm.svg("line", { x1: kx, x2: kx + 22, y1: ky - 4, y2: ky - 4, ...look }));
      svg.append(text(kx + 28, ky, gpm.short(groups.labels[at], across === 1 ? 42 : 18), { class: "strong" }));
    });
    for (const { at, label } of spread(marks(axis, 5), x.point, 52)) {
      const anchor = x.point(at) > right - 22 ? "end" : x.point(at) < left + 12 ? "start" : "middle";
      svg.append(text(x.point(at), bottom + 16, label, { "text-anchor": anchor }));
    }
    svg.append(text((left + right) / 2, bottom + 33, gpm.short(numeric.name, 44), { class: "strong", "text-anchor": "middle" }));
    return svg;
  };

  const bars = (pair, shape) => {
    const [n, m] = [shape.x.labels.length, shape.y.labels.length];
    if (n * m > 40) return tiles(pair, shape);
    const [left, right, row] = [140, WIDTH - 46, 17];
    const middle = (left + right) / 2;
    const svg = frame(n * (m * row + 24) + 8, `Bars per pair of categories. ${gpm.plain(pair.says)}`);
    let y = 14;
    for (let i = 0; i < n; i++) {
      svg.append(text(0, y, `${gpm.short(pair.a.name, 24)} = ${gpm.short(shape.x.labels[i], 26)}`, { class: "strong", "font-weight": 600 }));
      y += 6;
      for (let j = 0; j < m; j++, y += row) {
        const value = shape.value(i, j);
        const length = Math.min(1, Math.abs(value) / (shape.scale || 1)) * ((right - left) / 2);
        svg.append(text(left - 8, y + 12, gpm.short(shape.y.labels[j], 20), { "text-anchor": "end" }));
        svg.append(gpm.svg("rect", { x: value < 0 ? middle - length : middle, y: y + 2, width: Math.max(length, 0.5), height: row - 5, rx: 2, fill: gpm.colour(value < 0 ? "negative" : "positive") }));
        svg.append(text(WIDTH, y + 12, factor(value), { "text-anchor": "end" }));
      }
      svg.append(gpm.svg("line", { x1: middle, x2: middle, y1: y - m * row, y2: y, stroke: gpm.colour("muted") }));
      y += 18;
    }
    return svg;
  };

  const CAPTIONS = {
    surface: "Blue: the two values occur together more often than if the pair were independent given the rest; orange: less often.",
    lines: "Above ×1: the category occurs more often at that value than if the pair were independent given the rest; below: less often.",
    table: "Right, blue: the two categories occur together more often than if the pair were independent given the rest; left, orange: less often.",
  };

  gpm.figure = (pair) => {
    const shape = gpm.shape(pair);
    if (!shape) return null;
    shape.scale = Math.min(shape.scale, MOST);
    const draw = { surface: tiles, lines, table: bars }[shape.form];
    const figure = gpm.el("figure", { class: "figure", "data-form": shape.form }, draw(pair, shape));
    const second = shape.form === "table" && shape.x.labels.length * shape.y.labels.length <= 40;
    const rows = second ? ` Bars: ${gpm.short(pair.b.name, 40)}.` : "";
    figure.append(gpm.el("figcaption", { class: "figcaption" }, CAPTIONS[shape.form] + rows));
    return figure;
  };
})();
