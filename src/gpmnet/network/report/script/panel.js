"use strict";
// The details beside the picture: a variable with its Markov blanket, or a pair with the shape of its dependence.
(() => {
  const { el } = gpm;

  const head = (title) =>
    el("div", { class: "panel-head" }, title, el("button", { type: "button", class: "close", "aria-label": "Close details", title: "Close (Esc)", onclick: () => gpm.choose(null) }, "×"));

  const figures = (items) =>
    el("dl", { class: "stats" }, items.filter(([, value]) => value !== "").map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

  const swatch = (colour) => el("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" });

  const neighbor = (pair, node) => {
    const other = gpm.other(pair, node);
    const fill = el("i", { style: { width: `${(100 * pair.weight) / gpm.heaviest}%`, background: gpm.signColour(pair.sign) } });
    const sign = gpm.sign(pair.sign);
    const label = `${gpm.plain(other.name)}: strength ${gpm.weight(pair)}, ${gpm.signWord(pair.sign)}`;
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", "aria-label": label, onclick: () => gpm.choose(pair) },
        el("bdi", {}, gpm.short(other.name, 80)),
        el("span", { class: "bar" }, fill),
        el("span", { class: "number" }, `${gpm.weight(pair)}${sign && " " + sign}`),
      ),
    );
  };

  const heavier = (p, q) => q.weight - p.weight;

  const nodePanel = (node) => {
    const pairs = node.pairs.filter((pair) => gpm.shown.isShown.has(pair)).sort(heavier);
    const edges = pairs.filter((pair) => pair.isEdge);
    const near = pairs.filter((pair) => !pair.isEdge);
    const left = node.degree - node.pairs.filter((pair) => pair.isEdge).length;
    const name = gpm.short(node.name, 60);
    const blanket = edges.length
      ? `Given ${edges.length === 1 ? "this one" : `these ${edges.length}`}, nothing else in the table was found to tell more about ${name}.`
      : `At this cutoff nothing was found to depend on ${name} given the rest.`;
    return [
      head(el("h3", {}, el("bdi", {}, gpm.plain(node.name)))),
      el("span", { class: "badge" }, swatch(gpm.colour(node.kind)), node.kind),
      el("span", { class: "badge" }, swatch(gpm.communityColour(node.community)), `community ${node.community + 1}`),
      node.why && el("p", {}, `Taken as ${node.kind}: ${gpm.plain(node.why)}.`),
      node.range && el("p", {}, `Values: ${gpm.plain(node.range)}`),
      node.missing ? el("p", {}, `${gpm.count(node.missing, "row")} without a value.`) : null,
      node.notes && el("p", {}, gpm.plain(node.notes)),
      el("h4", {}, `Markov blanket: ${gpm.count(edges.length, "variable")}`),
      el("p", {}, blanket),
      el("ul", { class: "neighbors" }, edges.map((pair) => neighbor(pair, node))),
      left > 0 ? el("p", { class: "muted" }, `${gpm.count(left, "weaker edge")} of it ${left === 1 ? "is" : "are"} not on this page; see edges.csv.`) : null,
      near.length ? el("h4", {}, `Came close: ${gpm.count(near.length, "pair")}`) : null,
      near.length ? el("ul", { class: "neighbors" }, near.map((pair) => neighbor(pair, node))) : null,
    ];
  };

  const pairPanel = (pair) => {
    const end = (node) => el("button", { type: "button", class: "link", onclick: () => gpm.choose(node) }, el("bdi", {}, gpm.plain(node.name)));
    const fitted = gpm.data.cutoff;
    const verdict = pair.isEdge ? "edge" : `came close, no edge${fitted ? ` at ${fitted.letter} ≤ ${gpm.number(fitted.value)}` : ""}`;
    const figure = gpm.figure(pair);
    return [
      head(el("div", { class: "ends" }, end(pair.a), el("span", {}, "and"), end(pair.b))),
      el("span", { class: pair.isEdge ? "badge" : "badge near" }, verdict),
      el("p", {}, gpm.plain(pair.says)),
      pair.marginal !== null && el("p", { class: gpm.flips(pair) && "flip" }, gpm.marginalSays(pair)),
      pair.rests && el("p", {}, gpm.plain(pair.rests.words)),
      figures([
        ["strength", gpm.strength(pair.strength)],
        ["95% interval", gpm.interval(pair)],
        ["sign", gpm.signWord(pair.sign)],
        ["Omega", gpm.number(pair.omega)],
        ["p", gpm.probability(pair.p_value)],
        ["q", gpm.probability(pair.q_value)],
        ["stability", gpm.number(pair.stability ?? null)],
        ["→ in halves", gpm.number(pair.stability_forward ?? null)],
        ["← in halves", gpm.number(pair.stability_backward ?? null)],
        ["evidence, nats", pair.rests ? gpm.number(pair.rests.evidence) : ""],
        ["rows", gpm.rows(pair.n_rows ?? gpm.data.n_rows)],
      ]),
      figure || el("p", { class: "muted" }, "No shape was kept for this pair: shapes are estimated for edges."),
    ];
  };

  const welcome = () => [
    el("h3", {}, "Look closer"),
    el(
      "ul",
      { class: "welcome" },
      el("li", {}, "Choose a node for its Markov blanket: the variables that tell all there is to tell about it."),
      el("li", {}, "Choose an edge for the shape of its dependence: which values go together, and how sure that is."),
      gpm.data.cutoff && el("li", {}, "Move the cutoff: to the right, pairs that came close appear as dashed lines."),
      el("li", {}, "Drag nodes, zoom with the wheel or two fingers, find a variable by its name."),
    ),
    el("p", { class: "muted" }, "Wide lines are strong. The tables below hold the same, for the keyboard and for reading aloud."),
  ];

  const draw = () => {
    const { chosen } = gpm.state;
    const parts = !chosen ? welcome() : chosen.a ? pairPanel(chosen) : nodePanel(chosen);
    const panel = gpm.at("panel");
    panel.replaceChildren(...parts.filter((part) => part));
    panel.dataset.chosen = !chosen ? "" : (chosen.a ? "pair" : "node") + chosen.at;
  };

  gpm.startPanel = () => {
    draw();
    gpm.on("choose", ({ item, show }) => {
      draw();
      gpm.at("panel").scrollTop = 0;
      if (item && show && window.innerWidth <= 1080) {
        gpm.at("panel").scrollIntoView({ block: "nearest", behavior: gpm.still() ? "auto" : "smooth" });
      }
    });
    gpm.on("change", draw);
    gpm.on("theme", draw);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && gpm.state.chosen) gpm.choose(null);
    });
  };
})();
