"use strict";
// Large networks open on their communities: one node each, one line for all edges between two; some can be opened.
(() => {
  // What stands together because no edge on this page joins it to anything, or only to a few others.
  const [ALONE, SMALL] = [-1, -2];
  const MOST_IN_SMALL = 5;

  const inGroups = () => {
    const found = new Map();
    for (const node of gpm.nodes) found.has(node.group) ? found.get(node.group).push(node) : found.set(node.group, [node]);
    return found;
  };
  for (const node of gpm.nodes) node.group = node.pairs.some((pair) => pair.isEdge) ? node.community : ALONE;
  const isApart = ([key, nodes]) =>
    key !== ALONE && nodes.length <= MOST_IN_SMALL && nodes.every((node) => node.pairs.every((pair) => !pair.isEdge || gpm.other(pair, node).group === key));
  const small = [...inGroups()].filter(isApart);
  if (small.length > 1) small.forEach(([, nodes]) => nodes.forEach((node) => (node.group = SMALL)));
  const members = inGroups();
  const isGrouped = gpm.nodes.length > gpm.data.most_at_once && [...members.keys()].filter((key) => key >= 0).length > 1;
  gpm.isGrouped = isGrouped;

  const middle = (nodes, key) => (Math.min(...nodes.map((node) => node[key])) + Math.max(...nodes.map((node) => node[key]))) / 2;
  const hubOf = (nodes) => nodes.reduce((best, node) => (node.degree > best.degree ? node : best));

  // A community is named after the variable of it that has most edges.
  const groupOf = ([key, nodes]) => {
    const [hub, size] = [hubOf(nodes), nodes.length];
    const words = size > 1 ? ` + ${(size - 1).toLocaleString("en")}` : "";
    return {
      id: `g${key}`, at: key, key, members: nodes, hub, isGroup: true, community: key, kind: "group", degree: size,
      label: { [ALONE]: `${gpm.count(size, "variable")} without an edge`, [SMALL]: `${small.length} small communities` }[key] || gpm.short(hub.name, 20) + words,
      title: { [ALONE]: "Without an edge on this page", [SMALL]: "Small communities apart from the rest" }[key] || `Community ${key + 1}`,
      x: middle(nodes, "x"), y: middle(nodes, "y"),
    };
  };
  gpm.groups = isGrouped ? [...members].map(groupOf).sort((g, h) => (g.key < 0) - (h.key < 0) || h.members.length - g.members.length) : [];
  gpm.largest = gpm.groups.reduce((most, group) => (group.key < 0 ? most : Math.max(most, group.members.length)), 1);
  const byKey = new Map(gpm.groups.map((group) => [group.key, group]));
  gpm.group = (key) => byKey.get(key);

  // All edges between two communities as one line, the heaviest first; as wide as the sum of their strengths.
  const linksOf = (pairs) => {
    const found = new Map();
    for (const pair of pairs) {
      const keys = [pair.a.group, pair.b.group].sort((p, q) => p - q);
      if (keys[0] === keys[1]) continue;
      const id = `h${keys.join("_")}`;
      if (!found.has(id)) found.set(id, { id, a: gpm.group(keys[0]), b: gpm.group(keys[1]), isLink: true, isEdge: true, pairs: [], weight: 0 });
      found.get(id).pairs.push(pair);
      found.get(id).weight += pair.weight;
    }
    return [...found.values()].sort((p, q) => q.weight - p.weight);
  };

  // What the picture holds of all that is shown: everything, the communities, or those that are open.
  gpm.drawnOf = ({ nodes, pairs }, open) => {
    const links = isGrouped ? linksOf(pairs) : [];
    if (open === "all") return { nodes, pairs, links };
    if (open.length) {
      const isOpen = (node) => open.includes(node.group);
      return { nodes: nodes.filter(isOpen), pairs: pairs.filter((pair) => isOpen(pair.a) && isOpen(pair.b)), links };
    }
    const filled = new Set(nodes.map((node) => node.group));
    return { nodes: gpm.groups.filter((group) => filled.has(group.key)), pairs: links, links };
  };

  // Every item that a view can draw, whatever the filters.
  gpm.itemsOf = (open) => {
    if (open === "all") return { nodes: gpm.nodes, pairs: gpm.pairs };
    if (!open.length) return { nodes: gpm.groups, pairs: gpm.drawn.links };
    return gpm.drawnOf(gpm, open);
  };

  gpm.isOverview = () => gpm.state.open !== "all" && !gpm.state.open.length;
  gpm.keysOf = (item) => [...new Set(item.a ? [item.a.group, item.b.group] : [item.group])];
  gpm.isInView = (item, open) => open === "all" || gpm.keysOf(item).every((key) => open.includes(key));

  // Open communities by their keys: none for all of them as single nodes, "all" for every variable at once.
  gpm.open = (open) => {
    const { chosen } = gpm.state;
    if (chosen && !gpm.isInView(chosen, open)) gpm.choose(null);
    gpm.change({ open });
  };

  gpm.startViews = () => {
    if (!isGrouped) return;
    const [back, all] = [gpm.at("view-groups"), gpm.at("view-all")];
    gpm.at("views").hidden = false;
    back.addEventListener("click", () => gpm.open([]));
    all.addEventListener("click", () => gpm.open("all"));
    let before = gpm.state.open;
    const show = () => {
      const { open } = gpm.state;
      const hadFocus = [back, all, gpm.at("panel")].some((part) => part.contains(document.activeElement));
      [back.hidden, all.hidden] = [gpm.isOverview(), open === "all"];
      // What was pressed will be gone when the panel is drawn anew: the keyboard goes on from there.
      if (String(before) !== String(open) && hadFocus) gpm.at("panel").focus({ preventScroll: true });
      before = open;
    };
    gpm.on("change", show);
    show();
  };
})();
