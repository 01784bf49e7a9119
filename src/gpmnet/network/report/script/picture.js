"use strict";
// The picture as it is on the screen, as SVG: nothing faded, with its legend; PNG and PDF are drawn from it.
(() => {
  const { svg } = gpm;
  const LABEL = 12.5;

  const shapeOf = (node, x, y, r, fill) => {
    const look = { fill, stroke: gpm.colour("card"), "stroke-width": 2 };
    if (node.kind === "ordinal") return svg("path", { d: `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`, ...look });
    if (node.kind === "discrete") return svg("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, rx: r / 3, ...look });
    return svg("circle", { cx: x, cy: y, r, ...look });
  };

  // A triangle whose tip touches a node.
  const headOf = (from, to, r, size, fill) => {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const [tx, ty] = [to.x - ux * r, to.y - uy * r];
    const [bx, by] = [tx - ux * size, ty - uy * size];
    return svg("path", { d: `M${tx} ${ty}L${bx - (uy * size) / 2} ${by + (ux * size) / 2}L${bx + (uy * size) / 2} ${by - (ux * size) / 2}Z`, fill });
  };

  const DASHES = (pair) => (!pair.isEdge ? "7 5" : pair.rests && pair.rests.kind === "co-parents" ? "2 7" : null);

  const edgeOf = (pair, views, zoom) => {
    const [a, b] = [views.get(pair.a), views.get(pair.b)];
    const [stroke, width] = [gpm.signColour(pair.sign), gpm.cy.getElementById(pair.id).data("width") * zoom];
    const line = svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, stroke, "stroke-width": width, "stroke-dasharray": DASHES(pair), opacity: 0.8 });
    const way = pair.rests && pair.rests.kind !== "co-parents" && pair.rests.direction;
    const size = 6 * zoom + 1.5 * width;
    if (way === "->") return [line, headOf(a, b, b.r, size, stroke)];
    return way === "<-" ? [line, headOf(b, a, a.r, size, stroke)] : [line];
  };

  const labelOf = (node, { x, y, r }) => {
    const [, , dx, dy, gap] = node.place;
    const anchor = dx > 0 ? "start" : dx < 0 ? "end" : "middle";
    const look = { "text-anchor": anchor, fill: gpm.colour("ink"), stroke: gpm.colour("card"), "stroke-width": 3, "paint-order": "stroke" };
    return svg("text", { x: x + dx * (r + gap), y: y + dy * (r + gap + LABEL * 0.5) + LABEL * 0.35, ...look }, node.label);
  };

  // Entries from left to right, in as many lines as they need; returns their height.
  const legendInto = (root, width, top) => {
    let [x, y] = [16, top];
    for (const { icon, words } of gpm.legend()) {
      const room = 26 + words.length * 6.6 + 16;
      if (x > 16 && x + room > width) [x, y] = [16, y + 18];
      icon.setAttribute("x", x);
      icon.setAttribute("y", y - 9);
      root.append(icon, svg("text", { x: x + 26, y: y + 1, fill: gpm.colour("muted") }, words));
      x += room;
    }
    return y - top + 18;
  };

  gpm.pictureSvg = () => {
    const { cy, drawn } = gpm;
    const [width, height, zoom] = [cy.width(), cy.height(), cy.zoom()];
    const views = new Map(drawn.nodes.map((node) => {
      const element = cy.getElementById(node.id);
      return [node, { ...element.renderedPosition(), r: (element.data("size") / 2) * zoom }];
    }));
    const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", "font-family": "system-ui, sans-serif", "font-size": LABEL });
    const ground = svg("rect", { width, fill: gpm.colour("card") });
    root.append(svg("title", {}, `${gpm.plain(gpm.data.title)}: Markov network`), ground);
    root.append(...drawn.pairs.flatMap((pair) => edgeOf(pair, views, zoom)));
    root.append(...[...views].map(([node, { x, y, r }]) => shapeOf(node, x, y, r, gpm.nodeColour(node))));
    root.append(...[...views].filter(([node]) => node.place).map(([node, view]) => labelOf(node, view)));
    const cover = svg("rect", { y: height, width, height: 400, fill: gpm.colour("card") }); // what the screen does not show
    root.append(cover);
    const tall = height + 12 + legendInto(root, width, height + 12);
    ground.setAttribute("height", tall);
    for (const [name, value] of Object.entries({ width, height: tall, viewBox: `0 0 ${width} ${tall}` })) root.setAttribute(name, value);
    return { root, text: new XMLSerializer().serializeToString(root), width, height: tall };
  };

  gpm.picturePng = ({ text, width, height }) =>
    new Promise((done, failed) => {
      const image = new Image();
      image.onload = () => {
        const canvas = gpm.el("canvas", { width: 2 * width, height: 2 * height });
        canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
        URL.revokeObjectURL(image.src);
        canvas.toBlob(done, "image/png");
      };
      image.onerror = failed;
      image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    });
})();
