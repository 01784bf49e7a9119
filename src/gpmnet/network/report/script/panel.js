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

  const row = (words, share, colour, figure, onclick) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", onclick },
        el("bdi", {}, words),
        el("span", { class: "bar" }, el("i", { style: { width: `${100 * share}%`, background: colour } })),
        el("span", { class: "number" }, figure),
      ),
    );

  const groupRow = (group) =>
    row(group.label, Math.min(1, group.members.length / gpm.largest), gpm.communityColour(group.key), group.members.length.toLocaleString("en"), () => gpm.open([group.key]));

  // Every community, for those who do not point.
  const overview = () => [
    el("h3", {}, "Communities"),
    el("p", {}, "Variables that depend more on each other than on the rest. Choose one to open it, or the line between two to open both."),
    el("ul", { class: "neighbors" }, gpm.drawn.nodes.map(groupRow)),
  ];

  const MOST_MEMBERS = 40;
  const opened = () => {
    const { open } = gpm.state;
    const members = [...gpm.drawn.nodes].sort((p, q) => q.degree - p.degree || p.at - q.at);
    const most = members.length ? members[0].degree || 1 : 1;
    const links = gpm.drawn.links.filter((link) => open.includes(link.a.key) !== open.includes(link.b.key));
    const outside = (link) => (open.includes(link.a.key) ? link.b : link.a);
    const left = members.length - MOST_MEMBERS;
    const toLink = (link) =>
      row(outside(link).label, link.weight / links[0].weight, gpm.colour("no-sign"), gpm.count(link.pairs.length, "edge"), () => gpm.open([link.a.key, link.b.key]));
    return [
      el("h3", {}, open.map((key) => gpm.group(key).title).join(" and ")),
      links.length ? el("h4", {}, "Joined to") : null,
      el("ul", { class: "neighbors counted" }, links.map(toLink)),
      el("h4", {}, "Variables by their edges"),
      el("ul", { class: "neighbors" }, members.slice(0, MOST_MEMBERS).map((node) => row(gpm.short(node.name, 60), node.degree / most, gpm.nodeColour(node), String(node.degree), () => gpm.choose(node)))),
      left > 0 ? el("p", { class: "muted" }, `And ${gpm.count(left, "variable")} more, in the picture.`) : null,
    ];
  };

  const unchosen = () => (gpm.state.open === "all" ? welcome() : gpm.isOverview() ? overview() : opened());

  const draw = () => {
    const { chosen } = gpm.state;
    const parts = !chosen ? unchosen() : chosen.a ? pairPanel(chosen) : nodePanel(chosen);
    const panel = gpm.at("panel");
    panel.replaceChildren(...parts.filter((part) => part));
    panel.dataset.chosen = !chosen ? (gpm.state.open === "all" ? "" : "groups") : (chosen.a ? "pair" : "node") + chosen.at;
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
      if (event.key !== "Escape") return;
      if (gpm.state.chosen) gpm.choose(null);
      else if (gpm.isGrouped && !gpm.isOverview()) gpm.open([]);
    });
  };
})();
