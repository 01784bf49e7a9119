"use strict";
// What is shown: the cutoff, the least strength and stability, the kinds; which communities are open, which node or pair is chosen.
(() => {
  const fitted = gpm.data.cutoff;
  const alone = gpm.nodes.filter((node) => node.degree === 0).length;

  // With more than two edges a node the picture opens on its backbone: the strongest one and a half a node, and of each
  // node its own strongest, or a variable of weak edges would look as if it had none.
  const edges = gpm.pairs.filter((pair) => pair.isEdge); // strongest first
  const joined = gpm.nodes.length - alone;
  const [strongest, seen] = [new Set(), new Set()];
  for (const pair of edges) {
    if (!seen.has(pair.a) || !seen.has(pair.b)) strongest.add(pair);
    seen.add(pair.a).add(pair.b);
  }
  gpm.backbone = edges.length > 2 * joined ? edges[Math.round(1.5 * joined) - 1].weight : 0;

  gpm.state = {
    cutoff: fitted ? fitted.value : null,
    strength: gpm.backbone,
    stability: 0,
    kinds: new Set(gpm.kinds),
    isolated: alone <= 30,
    colour: gpm.kinds.length === 1 && gpm.communities.length > 1 ? "community" : "kind", // one kind has one colour
    open: gpm.isGrouped ? [] : "all",
    chosen: null,
  };

  gpm.startColour = gpm.state.colour;

  // At the fitted cutoff exactly the edges; below it fewer; above it the pairs that came close as well.
  // An edge above the fitted cutoff was required, not found, and no cutoff removes it.
  const passes = (pair) => {
    if (!fitted) return pair.isEdge;
    const figure = pair[fitted.figure];
    const { cutoff } = gpm.state;
    if (cutoff === fitted.value || figure === null) return pair.isEdge;
    return figure <= cutoff || (pair.isEdge && figure > fitted.value);
  };

  const compute = () => {
    const { strength, stability, kinds, isolated } = gpm.state;
    const isStrong = (pair) => pair.weight >= strength || (strength === gpm.backbone && strongest.has(pair));
    const passed = gpm.pairs.filter((pair) => passes(pair) && (pair.stability ?? 1) >= stability && kinds.has(pair.a.kind) && kinds.has(pair.b.kind));
    const pairs = passed.filter(isStrong);
    const joined = new Set(pairs.flatMap((pair) => [pair.a, pair.b]));
    const nodes = gpm.nodes.filter((node) => kinds.has(node.kind) && (isolated || joined.has(node)));
    gpm.shown = { pairs, nodes, passed, isShown: new Set([...pairs, ...nodes]) };
    const drawn = gpm.drawnOf(gpm.shown, gpm.state.open);
    gpm.drawn = { ...drawn, isDrawn: new Set([...drawn.pairs, ...drawn.nodes]) };
  };
  compute();

  gpm.change = (patch) => {
    Object.assign(gpm.state, patch);
    compute();
    gpm.emit("change");
  };

  // Choose a node, a pair, or nothing; `show` brings the panel into view. The communities of what is chosen are opened.
  gpm.choose = (item, show = true) => {
    if (item && !gpm.isInView(item, gpm.state.open)) gpm.change({ open: gpm.keysOf(item) });
    gpm.state.chosen = item;
    gpm.emit("choose", { item, show });
  };
})();
