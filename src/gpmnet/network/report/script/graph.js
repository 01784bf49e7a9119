"use strict";
// The picture: cytoscape draws, positions come with the data, what is shown follows the state.
(() => {
  const reach = (nodes, key) => Math.max(...nodes.map((node) => node[key])) - Math.min(...nodes.map((node) => node[key]));
  // Pixels of a unit of the layout: crowded and large networks stand so that nodes and lines can still be told apart.
  const spacing = (nodes) => {
    const joined = nodes.filter((node) => node.degree);
    const room = joined.length > 2 ? Math.sqrt((Math.max(1, reach(joined, "x")) * Math.max(1, reach(joined, "y"))) / joined.length) : 1;
    return Math.min(260, (75 + 75 * Math.min(1, 40 / joined.length)) / Math.max(0.3, room));
  };
  // A wide picture is used in its width, a phone's in its height: up to half as much again, so that labels have room.
  const stretch = (nodes) => {
    const { clientWidth: width, clientHeight: height } = gpm.at("graph");
    const ratio = width / height / ((reach(nodes, "x") || 1) / (reach(nodes, "y") || 1));
    return [Math.max(1, Math.min(1.5, ratio)), Math.max(1, Math.min(1.5, 1 / ratio))];
  };
  let [across, down] = [1, 1];
  const SHAPES = { continuous: "ellipse", ordinal: "diamond", discrete: "round-rectangle", unknown: "ellipse" };
  let cy = null;
  const isLarge = gpm.pairs.length > 1200;
  let isUntouched = true;

  gpm.nodeColour = (node) => (gpm.state.colour === "kind" && !node.isGroup ? gpm.colour(node.kind) : gpm.communityColour(node.community));

  // An arrowhead where the direction is known; dots between two causes of a common effect that no arrow joins.
  const directionClasses = ({ rests }) => {
    if (!rests) return [];
    return rests.kind === "co-parents" ? ["shared"] : { "->": ["forth"], "<-": ["back"] }[rests.direction] || [];
  };

  const placeOf = (node) => ({ x: node.x * across, y: node.y * down });

  const groupSize = ({ key, members }) => (key < 0 ? 30 : 24 + 56 * Math.sqrt(members.length / gpm.largest));
  const sizeOf = (node) => (node.isGroup ? groupSize(node) : Math.min(46, 16 + 7 * Math.sqrt(node.degree)));

  // What is or was in the picture, by the ids of its elements: those that leave are asked for their colours once more.
  const items = new Map();
  const elements = ({ nodes, pairs }) => {
    for (const item of [...nodes, ...pairs]) items.set(item.id, item);
    const heaviest = gpm.isOverview() ? Math.max(...pairs.map((link) => link.weight)) : gpm.heaviest;
    return [
      ...nodes.map((node) => ({
        data: { id: node.id, label: node.label, size: sizeOf(node), shape: SHAPES[node.kind] || "ellipse" },
        position: placeOf(node),
      })),
      ...pairs.map((pair) => ({
        data: { id: pair.id, source: pair.a.id, target: pair.b.id, width: 1.5 + 6.5 * (pair.weight / heaviest) },
        classes: [pair.isEdge ? "" : "near", ...directionClasses(pair)].join(" "),
      })),
    ];
  };

  const look = () => {
    const [ink, card, accent] = ["ink", "card", "accent"].map(gpm.colour);
    const nodeColour = (element) => gpm.nodeColour(itemOf(element));
    // An edge that half-samples seldom have is pale.
    const edgeOpacity = (element) => 0.25 + 0.55 * (itemOf(element).stability ?? 1);
    const edgeColour = (element) => gpm.signColour(itemOf(element).sign);
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

  const itemOf = (element) => items.get(element.id());
  const elementOf = (item) => cy.getElementById(item.id);

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

  // Another view has elements of its own: thousands that are hidden would make every change slow.
  let view = null;
  const build = () => {
    const { open } = gpm.state;
    const held = gpm.itemsOf(open);
    const isNew = String(open) !== view;
    if (isNew) {
      view = String(open);
      const unit = spacing(held.nodes);
      [across, down] = (held.nodes.length ? stretch(held.nodes) : [1, 1]).map((times) => times * unit);
    }
    cy.batch(() => {
      cy.elements().remove();
      cy.add(elements(held));
    });
    return isNew;
  };

  const apply = () => {
    const isNew = (String(gpm.state.open) !== view || gpm.isOverview()) && build();
    cy.batch(() => {
      cy.elements().forEach((element) => element.toggleClass("hidden", !gpm.drawn.isDrawn.has(itemOf(element))));
    });
    if (isNew) {
      isUntouched = true;
      fit();
    }
    spotlight(gpm.state.chosen); // what is lit follows what is shown
    gpm.placeLabelsSoon(cy);
  };

  const named = (pair) => `${gpm.short(pair.a.name, 60)} — ${gpm.short(pair.b.name, 60)}`;
  const describeGroup = (item) =>
    item.isLink
      ? `${item.a.label} — ${item.b.label}: ${gpm.count(item.pairs.length, "edge")}, the strongest ${named(item.pairs[0])}`
      : `${item.title}: ${gpm.count(item.members.length, "variable")}. Click to open.`;
  const describe = (item) =>
    item.isGroup || item.isLink
      ? describeGroup(item)
      : item.a
      ? `${named(item)}: strength ${gpm.strength(item.strength)} ${gpm.sign(item.sign)}` +
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
    cy.on("tap", (event) => {
      const item = event.target === cy ? null : itemOf(event.target);
      if (!item || !(item.isGroup || item.isLink)) return gpm.choose(item);
      box.hidden = true;
      gpm.open(item.isLink ? [item.a.key, item.b.key] : [item.key]);
    });
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
    if (!shown.length || !cy.width()) return;
    // Labels keep their size on the screen, so that only the nodes count; beside them there is room for names.
    const { x1, y1, w, h } = shown.boundingBox({ includeLabels: false });
    const [besides, above] = [Math.min(72, cy.width() / 8), 40];
    const zoom = Math.min(1.3, (cy.width() - 2 * besides) / w, (cy.height() - 2 * above) / h);
    const goal = { zoom, pan: { x: cy.width() / 2 - zoom * (x1 + w / 2), y: cy.height() / 2 - zoom * (y1 + h / 2) } };
    if (!isUntouched && !gpm.still() && gpm.pairs.length < 800) cy.animate(goal, { duration: 250 });
    else cy.viewport(goal);
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
    cy.batch(() => cy.nodes().forEach((node) => node.position(placeOf(itemOf(node)))));
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
    if (!isInside && gpm.drawn.isDrawn.has(item)) cy.center(element);
  };

  gpm.startGraph = () => {
    cy = cytoscape({
      container: gpm.at("graph"), style: look(), layout: { name: "preset", fit: false }, minZoom: 0.02, maxZoom: 4,
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
