"use strict";
// Strength against stability: a point a pair, full where the picture shows it, so that the sliders can be set by it.
(() => {
  const canvas = gpm.at("resampled-plot");
  const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT, DOT] = [52, 16, 14, 46, 380, 5];
  const REACH = 14; // of the mouse, around a point
  const MOST_NAMED = 8;
  const points = []; // {pair, x, y}
  let width = 0;

  const x = (stability) => LEFT + stability * (width - LEFT - RIGHT);
  const y = (weight) => HEIGHT - BOTTOM - (weight / gpm.heaviest) * (HEIGHT - TOP - BOTTOM);

  // The smallest of 1, 2 and 5 times a power of ten that is no less.
  const roundStep = (least) => {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * (1 - 1e-9));
  };

  const line = (pen, from, to) => {
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    pen.stroke();
  };

  const axes = (pen) => {
    Object.assign(pen, { strokeStyle: gpm.colour("line"), fillStyle: gpm.colour("muted"), lineWidth: 1, font: "12px system-ui, sans-serif" });
    pen.textAlign = "center";
    for (const at of [0, 0.25, 0.5, 0.75, 1]) {
      line(pen, [x(at), TOP], [x(at), HEIGHT - BOTTOM]);
      pen.fillText(String(at), x(at), HEIGHT - BOTTOM + 17);
    }
    pen.fillText("stability: share of the half-samples that have the edge", (x(0) + x(1)) / 2, HEIGHT - 8);
    pen.textAlign = "right";
    const step = roundStep(gpm.heaviest / 5);
    for (let at = 0; at * step <= gpm.heaviest; at++) {
      line(pen, [LEFT, y(at * step)], [width - RIGHT, y(at * step)]);
      pen.fillText(gpm.number(Number((at * step).toPrecision(3))), LEFT - 8, y(at * step) + 4);
    }
    pen.save();
    pen.translate(13, (TOP + HEIGHT - BOTTOM) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(`${gpm.hasStrength ? "strength" : "Omega"} in all rows`, 0, 0);
    pen.restore();
  };

  // What the sliders ask for at least.
  const limits = (pen) => {
    const { stability, strength } = gpm.state;
    pen.strokeStyle = gpm.colour("muted");
    pen.setLineDash([5, 4]);
    if (stability > 0) line(pen, [x(stability), TOP], [x(stability), HEIGHT - BOTTOM]);
    if (strength > 0) line(pen, [LEFT, y(strength)], [width - RIGHT, y(strength)]);
    pen.setLineDash([]);
  };

  const dots = (pen) => {
    for (const point of points) {
      const isShown = gpm.shown.isShown.has(point.pair);
      pen.fillStyle = gpm.colour(point.pair.isEdge ? "accent" : "no-sign");
      pen.globalAlpha = isShown ? 0.8 : 0.18;
      pen.beginPath();
      pen.arc(point.x, point.y, gpm.state.chosen === point.pair ? DOT + 3 : DOT, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
  };

  // The least stable edges that are shown have names, where these lie neither over one another nor over points.
  const names = (pen) => {
    pen.fillStyle = gpm.colour("ink");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "left";
    const weak = points.filter(({ pair }) => pair.isEdge && gpm.shown.isShown.has(pair) && pair.stability < 0.9);
    const taken = points.map((point) => ({ from: point.x - DOT, to: point.x + DOT, at: point.y }));
    let named = 0;
    for (const point of weak.sort((p, q) => p.pair.stability - q.pair.stability)) {
      if (named === MOST_NAMED) return;
      const words = [point.pair.a, point.pair.b].map((node) => gpm.short(node.name, 18)).join(" — ");
      const length = pen.measureText(words).width;
      const beside = [[10, 0], [-10 - length, 0], [-length / 2, -14], [-length / 2, 14]];
      const box = beside
        .map(([left, down]) => ({ from: point.x + left, to: point.x + left + length, at: point.y + down }))
        .find(({ from, to, at }) => from > LEFT && to < width && at < HEIGHT - BOTTOM && !taken.some((other) => from < other.to && other.from < to && Math.abs(at - other.at) < 12));
      if (!box) continue;
      taken.push(box);
      pen.fillText(words, box.from, box.at + 4);
      named += 1;
    }
  };

  const draw = () => {
    width = Math.max(280, Math.min(860, canvas.parentElement.clientWidth - 30));
    for (const point of points) Object.assign(point, { x: x(point.pair.stability), y: y(point.pair.weight) });
    const pen = gpm.pen(canvas, width, HEIGHT);
    for (const part of [axes, limits, dots, names]) part(pen);
  };

  // The point that is nearest to the mouse, if one is near; of those at one place the one that is shown.
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const far = (point) => Math.hypot(point.x - left, point.y - top) + (gpm.shown.isShown.has(point.pair) ? 0 : 0.5);
    const nearest = points.reduce((best, point) => (!best || far(point) < far(best) ? point : best), null);
    return nearest && far(nearest) <= REACH ? nearest.pair : null;
  };

  const said = (pair) => {
    const ends = [pair.a, pair.b].map((node) => gpm.short(node.name, 60)).join(" — ");
    const figure = `${gpm.hasStrength ? "strength" : "Omega"} ${gpm.weight(pair)}`;
    return `${ends}: stability ${gpm.number(pair.stability)}, ${figure}${pair.isEdge ? "" : ", came close"}`;
  };

  gpm.startResampled = () => {
    if (!canvas) return;
    for (const pair of gpm.pairs) if (pair.stability !== null) points.push({ pair });
    draw();
    for (const event of ["theme", "change", "choose"]) gpm.on(event, draw);
    window.addEventListener("resize", draw);
    const tip = gpm.at("resampled-tip");
    canvas.addEventListener("mousemove", (event) => {
      const pair = under(event);
      canvas.style.cursor = pair ? "pointer" : "default";
      gpm.tip(tip, event, pair ? said(pair) : "");
    });
    canvas.addEventListener("mouseleave", (event) => gpm.tip(tip, event, ""));
    canvas.addEventListener("click", (event) => {
      const pair = under(event);
      if (pair) gpm.openItem(pair);
    });
  };
})();
