"use strict";
// The Omega heatmap: variables by community, colour by sign, depth by the square root of Omega.
(() => {
  const { order } = gpm.data.matrix;
  const canvas = gpm.at("matrix");
  let cell = 0;
  let margin = 0;
  const byPlace = new Map();

  const collect = () => {
    const place = new Map(order.map((node, at) => [node, at]));
    for (const pair of gpm.pairs) {
      const [i, j] = [place.get(pair.a.at), place.get(pair.b.at)];
      if (!pair.isEdge || i === undefined || j === undefined) continue;
      byPlace.set(i * order.length + j, pair);
      byPlace.set(j * order.length + i, pair);
    }
  };

  const size = (pair) => pair.omega ?? pair.weight;

  // Where the colour is full: the largest, or where it stands far above all others, what 95% of the edges are below.
  const fullAt = () => {
    const sizes = [...new Set(byPlace.values())].map(size).sort((p, q) => p - q);
    const [largest, most] = [sizes[sizes.length - 1], sizes[Math.ceil(0.95 * sizes.length) - 1]];
    const isCut = largest > 2 * most && most > 0;
    gpm.at("matrix-scale").textContent = isCut ? `The colour is full from Omega ${gpm.number(most)} on, which 5% of the edges exceed, up to ${gpm.number(largest)}.` : "";
    return (isCut ? most : largest) || 1;
  };

  const draw = () => {
    const n = order.length;
    const room = Math.max(260, Math.min(760, canvas.parentElement.clientWidth - 30));
    const labelled = n <= 60;
    const longest = order.reduce((most, at) => Math.max(most, gpm.nodes[at].label.length), 0);
    margin = labelled ? Math.min(180, room * 0.34, 14 + longest * 7) : 6;
    cell = Math.max(labelled ? 9 : 2, Math.min(30, (room - margin) / n));
    const side = Math.ceil(margin + cell * n + 2);
    const pen = gpm.pen(canvas, side, side);
    pen.fillStyle = gpm.colour("middle");
    pen.fillRect(margin, margin, cell * n, cell * n);
    const full = fullAt();
    const gap = cell > 8 ? 1 : 0;
    for (const [key, pair] of byPlace) {
      const [i, j] = [Math.floor(key / n), key % n];
      pen.fillStyle = gpm.mix(gpm.colour("middle"), gpm.signColour(pair.sign), 0.15 + 0.85 * Math.sqrt(Math.min(1, size(pair) / full)));
      pen.fillRect(margin + j * cell, margin + i * cell, cell - gap, cell - gap);
    }
    frames(pen, n);
    if (labelled) labels(pen, n);
  };

  // A line between communities, and the diagonal, which is not part of the network.
  const frames = (pen, n) => {
    pen.fillStyle = gpm.colour("line");
    for (let at = 0; at < n; at++) pen.fillRect(margin + at * cell, margin + at * cell, cell, cell);
    pen.strokeStyle = gpm.colour("muted");
    pen.lineWidth = 0.8;
    for (let at = 1; at < n; at++) {
      if (gpm.nodes[order[at]].community === gpm.nodes[order[at - 1]].community) continue;
      const where = margin + at * cell - 0.5;
      pen.beginPath();
      pen.moveTo(margin, where);
      pen.lineTo(margin + n * cell, where);
      pen.moveTo(where, margin);
      pen.lineTo(where, margin + n * cell);
      pen.stroke();
    }
  };

  const labels = (pen, n) => {
    pen.fillStyle = gpm.colour("ink");
    pen.font = `${Math.min(12, cell * 0.85)}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    const letters = Math.floor((margin - 10) / 6.6);
    for (let at = 0; at < n; at++) {
      const words = gpm.short(gpm.nodes[order[at]].name, letters);
      const middle = margin + (at + 0.5) * cell;
      pen.textAlign = "right";
      pen.fillText(words, margin - 6, middle);
      pen.save();
      pen.translate(middle, margin - 6);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(words, 0, 0);
      pen.restore();
    }
  };

  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    const [j, i] = [event.clientX - box.left, event.clientY - box.top].map((at) => Math.floor((at - margin) / cell));
    return i < 0 || j < 0 || i >= order.length || j >= order.length ? null : { i, j, pair: byPlace.get(i * order.length + j) };
  };

  const said = ({ i, j, pair }) => {
    const names = [i, j].map((at) => gpm.short(gpm.nodes[order[at]].name, 60)).join(" — ");
    return pair ? `${names}: Omega ${gpm.number(pair.omega)}, strength ${gpm.strength(pair.strength)}` : `${names}: no edge`;
  };

  const hover = (event) => {
    const found = under(event);
    gpm.tip(gpm.at("matrix-tip"), event, found && found.i !== found.j ? said(found) : "");
  };

  gpm.startMatrix = () => {
    if (!order.length) {
      canvas.replaceWith(gpm.el("p", { class: "muted" }, "There is no edge to draw."));
      return;
    }
    collect();
    draw();
    gpm.on("theme", draw);
    window.addEventListener("resize", draw);
    canvas.addEventListener("mousemove", hover);
    canvas.addEventListener("mouseleave", () => (gpm.at("matrix-tip").hidden = true));
    canvas.addEventListener("click", (event) => {
      const found = under(event);
      if (found && found.pair) gpm.openItem(found.pair);
    });
  };
})();
