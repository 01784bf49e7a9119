"use strict";
// The picture: cytoscape draws, positions come with the data, what is shown follows the state.
(() => {
  // Pixels of a unit of the layout: crowded and large networks stand so that nodes and lines can still be told apart.
  const spacing = () => {
    const joined = gpm.nodes.filter((node) => node.degree);
    const reach = (key) => Math.max(...joined.map((node) => node[key])) - Math.min(...joined.map((node) => node[key]));
    const room = joined.length > 2 ? Math.sqrt((Math.max(1, reach("x")) * Math.max(1, reach("y"))) / joined.length) : 1;
    return Math.min(260, (75 + 75 * Math.min(1, 40 / joined.length)) / Math.max(0.3, room));
  };
  const SPACING = spacing();
  // A wide picture is used in its width: up to half as much again, so that labels have room.
  const stretch = () => {
    const reach = (key) => Math.max(...gpm.nodes.map((node) => node[key])) - Math.min(...gpm.nodes.map((node) => node[key])) || 1;
    const { clientWidth: width, clientHeight: height } = gpm.at("graph");
    return Math.max(1, Math.min(1.5, width / height / (reach("x") / reach("y"))));
  };
  let across = SPACING;
  const SHAPES = { continuous: "ellipse", ordinal: "diamond", discrete: "round-rectangle", unknown: "ellipse" };
  let cy = null;
  const isLarge = gpm.pairs.length > 1200;
  let isUntouched = true;

  gpm.nodeColour = (node) => (gpm.state.colour === "kind" ? gpm.colour(node.kind) : gpm.communityColour(node.community));

  // An arrowhead where the direction is known; dots between two causes of a common effect that no arrow joins.
  const directionClasses = ({ rests }) => {
    if (!rests) return [];
    return rests.kind === "co-parents" ? ["shared"] : { "->": ["forth"], "<-": ["back"] }[rests.direction] || [];
  };

  const placeOf = (node) => ({ x: node.x * across, y: node.y * SPACING });

  const elements = () => [
    ...gpm.nodes.map((node) => ({
      data: { id: `n${node.at}`, at: node.at, label: node.label, size: Math.min(46, 16 + 7 * Math.sqrt(node.degree)), shape: SHAPES[node.kind] || "ellipse" },
      position: placeOf(node),
    })),
    ...gpm.pairs.map((pair) => ({
      data: { id: `e${pair.at}`, at: pair.at, source: `n${pair.a.at}`, target: `n${pair.b.at}`, width: 1.5 + 6.5 * (pair.weight / gpm.heaviest) },
      classes: [pair.isEdge ? "" : "near", ...directionClasses(pair)].join(" "),
    })),
  ];

  const look = () => {
    const [ink, card, accent] = ["ink", "card", "accent"].map(gpm.colour);
    const nodeColour = (element) => gpm.nodeColour(gpm.nodes[element.data("at")]);
    // An edge that half-samples seldom have is pale.
    const edgeOpacity = (element) => 0.25 + 0.55 * (gpm.pairs[element.data("at")].stability ?? 1);
    const edgeColour = (element) => gpm.signColour(gpm.pairs[element.data("at")].sign);
    return [
      {
        selector: "node",
        style: {
          width: "data(size)", height: "data(size)", shape: "data(shape)", "background-color": nodeColour,
          "border-width": 2, "border-color": card, label: "data(label)", color: ink, "font-size": 13,
          "font-family": "system-ui, sans-serif", "text-valign": "bottom", "text-margin-y": 4,
          "text-outline-color": card, "text-outline-width": 2.5, "overlay-opacity": 0,
        },
      },
      { selector: "edge", style: { width: "data(width)", "line-color": edgeColour, "curve-style": "straight", opacity: edgeOpacity, "overlay-opacity": 0 } },
      { selector: "edge.shared", style: { "line-style": "dashed", "line-dash-pattern": [2, 7], "line-cap": "round" } },
      { selector: "edge.forth", style: { "target-arrow-shape": "triangle", "target-arrow-color": edgeColour, "arrow-scale": 1.5 } },
      { selector: "edge.back", style: { "source-arrow-shape": "triangle", "source-arrow-color": edgeColour, "arrow-scale": 1.5 } },
      { selector: "edge.near", style: { "line-style": "dashed", "line-dash-pattern": [7, 5], opacity: 0.6 } },
      { selector: "node.unlabelled", style: { "text-opacity": 0, "text-outline-opacity": 0 } },
      { selector: ".faded", style: { opacity: 0.15 } },
      { selector: "node.chosen", style: { "border-color": accent, "border-width": 4 } },
      { selector: "edge.chosen", style: { opacity: 1, "underlay-color": accent, "underlay-opacity": 0.35, "underlay-padding": 5 } },
      { selector: ".hidden", style: { display: "none" } },
    ];
  };

  const itemOf = (element) => (element.isNode() ? gpm.nodes : gpm.pairs)[element.data("at")];
  const elementOf = (item) => cy.getElementById((item.a ? "e" : "n") + item.at);

  // Everything but an item and its neighbors fades.
  const spotlight = (item) => {
    cy.batch(() => {
      cy.$(".faded, .chosen").removeClass("faded chosen");
      if (!item) return;
      const element = elementOf(item);
      const edges = item.a ? element : element.connectedEdges(":visible"); // not those of pairs that only came close
      const lit = element.union(edges).union(edges.connectedNodes());
      cy.elements().not(lit).addClass("faded");
      if (item === gpm.state.chosen) element.addClass("chosen");
    });
  };

  const apply = () => {
    cy.batch(() => {
      cy.elements().forEach((element) => element.toggleClass("hidden", !gpm.shown.isShown.has(itemOf(element))));
    });
    spotlight(gpm.state.chosen); // what is lit follows what is shown
    gpm.placeLabelsSoon(cy);
  };

  const describe = (item) =>
    item.a
      ? `${gpm.short(item.a.name, 60)} — ${gpm.short(item.b.name, 60)}: strength ${gpm.strength(item.strength)} ${gpm.sign(item.sign)}` +
        (item.q_value === null ? "" : `, q ${gpm.probability(item.q_value)}`) +
        ((item.stability ?? null) === null ? "" : `, in ${gpm.number(100 * item.stability)}% of the half-samples`)
      : `${gpm.short(item.name, 120)}: ${item.kind}, ${gpm.count(item.degree, "edge")}`;

  const listen = () => {
    const box = gpm.at("tip");
    cy.on("mouseover", "node, edge", (event) => {
      const item = itemOf(event.target);
      if (!gpm.state.chosen && !isLarge) spotlight(item);
      box.textContent = describe(item);
      gpm.at("graph").style.cursor = "pointer";
    });
    cy.on("mousemove", "node, edge", (event) => {
      box.hidden = false;
      const { x, y } = event.renderedPosition;
      box.style.left = `${Math.max(4, Math.min(x + 14, cy.width() - box.offsetWidth - 6))}px`;
      box.style.top = `${Math.max(4, Math.min(y + 14, cy.height() - box.offsetHeight - 6))}px`;
    });
    cy.on("mouseout tapstart", "node, edge", () => {
      box.hidden = true;
      gpm.at("graph").style.cursor = "";
      if (!gpm.state.chosen && !isLarge) spotlight(null);
    });
    cy.on("tap", (event) => gpm.choose(event.target === cy ? null : itemOf(event.target)));
    cy.on("viewport free", () => gpm.placeLabelsSoon(cy));
    cy.on("scrollzoom pinchzoom dragpan", () => (isUntouched = false));
    new ResizeObserver(() => {
      cy.resize();
      if (isUntouched) fit();
      gpm.placeLabelsSoon(cy);
    }).observe(gpm.at("graph"));
  };

  const fit = () => {
    const shown = cy.elements(":visible");
    if (!isUntouched && !gpm.still() && gpm.pairs.length < 800) cy.animate({ fit: { eles: shown, padding: 44 } }, { duration: 250 });
    else cy.fit(shown, 44);
    if (cy.zoom() > 1.3) cy.zoom({ level: 1.3, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  };

  const zoom = (ratio) => {
    isUntouched = false;
    cy.zoom({ level: cy.zoom() * ratio, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  };

  const MOVES = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  const onKey = (event) => {
    if (event.key in MOVES) cy.panBy({ x: MOVES[event.key][0], y: MOVES[event.key][1] });
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };

  const tidy = () => {
    cy.batch(() => gpm.nodes.forEach((node) => elementOf(node).position(placeOf(node))));
    fit();
  };

  const follow = (item) => {
    spotlight(item);
    gpm.placeLabels(cy);
    if (!item) return;
    const element = elementOf(item);
    const view = cy.extent();
    const { x1, x2, y1, y2 } = element.boundingBox({ includeLabels: false });
    const isInside = x1 >= view.x1 && x2 <= view.x2 && y1 >= view.y1 && y2 <= view.y2;
    if (!isInside && gpm.shown.isShown.has(item)) cy.center(element);
  };

  gpm.startGraph = () => {
    across = SPACING * (gpm.nodes.length ? stretch() : 1);
    cy = cytoscape({
      container: gpm.at("graph"), elements: elements(), style: look(), layout: { name: "preset", fit: false }, minZoom: 0.02, maxZoom: 4,
      boxSelectionEnabled: false, autounselectify: true, hideEdgesOnViewport: isLarge, textureOnViewport: isLarge,
    });
    gpm.cy = cy;
    apply();
    listen(); // and fit, as soon as the size of the picture is known
    let { colour } = gpm.state;
    gpm.on("change", () => {
      if (colour !== gpm.state.colour) cy.style(look()); // costly, and nothing else changes how things look
      colour = gpm.state.colour;
      apply();
    });
    gpm.on("choose", ({ item }) => follow(item));
    gpm.on("theme", () => {
      cy.style(look());
      gpm.placeLabels(cy);
    });
    gpm.at("graph").addEventListener("keydown", onKey);
    gpm.at("zoom-in").addEventListener("click", () => zoom(1.4));
    gpm.at("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
    gpm.at("zoom-fit").addEventListener("click", fit);
    gpm.at("tidy").addEventListener("click", tidy);
  };
})();
