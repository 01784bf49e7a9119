"use strict";
// Labels keep their size on the screen, stand where there is room, never on each other, and give way to those of nodes
// with more edges.
(() => {
  const PIXELS = 12.5;
  const GAP = 3;
  const CELL = 80;
  // Pixels of width for each name that must be there: of few nodes all, else the hubs, if need be across other nodes.
  const WIDTH_EACH = 20;
  const HUBS = 15;
  // Where a label may stand: its alignment, its direction from the node, and its distance; those that matter also farther.
  const BESIDE = [
    ["bottom", "center", 0, 1], ["top", "center", 0, -1], ["center", "right", 1, 0], ["center", "left", -1, 0],
    ["bottom", "right", 1, 1], ["bottom", "left", -1, 1], ["top", "right", 1, -1], ["top", "left", -1, -1],
  ];
  const PLACES = [GAP, GAP + 1.2 * PIXELS, GAP + 2.6 * PIXELS].flatMap((gap) => BESIDE.map((place) => [...place, gap]));
  const HEAD = 9;

  // Boxes by the cells of a coarse grid that they touch, to find clashes fast.
  class Taken {
    cells = new Map();

    keys(box) {
      const keys = [];
      for (let i = Math.floor(box.x1 / CELL); i <= Math.floor(box.x2 / CELL); i++) {
        for (let j = Math.floor(box.y1 / CELL); j <= Math.floor(box.y2 / CELL); j++) keys.push(`${i},${j}`);
      }
      return keys;
    }

    add(box) {
      for (const key of this.keys(box)) this.cells.has(key) ? this.cells.get(key).push(box) : this.cells.set(key, [box]);
    }

    clashes(box) {
      const meets = (other) => other.node !== box.node && box.x1 < other.x2 && other.x1 < box.x2 && box.y1 < other.y2 && other.y1 < box.y2;
      return this.keys(box).some((key) => (this.cells.get(key) || []).some(meets));
    }
  }

  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${PIXELS}px system-ui, sans-serif`;
  const halfWidth = (node) => (node.half ??= pen.measureText(node.label).width / 2 + 4);

  const around = (node, x, y, half, tall) => ({ node, x1: x - half, x2: x + half, y1: y - tall, y2: y + tall });

  // The heads of the arrows that are shown, as boxes where they touch their nodes; they belong to no node, so that all labels avoid them.
  const arrowheads = (views, zoom) => {
    const heads = new Taken();
    const byNode = new Map(views.map((view) => [view.node, view]));
    for (const pair of gpm.drawn.pairs) {
      const way = pair.rests && pair.rests.direction;
      if (way !== "->" && way !== "<-") continue;
      const [from, to] = (way === "->" ? [pair.a, pair.b] : [pair.b, pair.a]).map((node) => byNode.get(node));
      const length = Math.hypot(from.x - to.x, from.y - to.y);
      const share = Math.min(1, (to.radius + HEAD * zoom) / (length || 1));
      heads.add(around(null, to.x + (from.x - to.x) * share, to.y + (from.y - to.y) * share, HEAD * zoom, HEAD * zoom));
    }
    return heads;
  };

  // The buttons over the picture, which no label shall be under.
  const fixed = () => {
    const parts = [...document.querySelectorAll(".zoom, .views")].filter((part) => part.offsetWidth);
    const { offsetLeft: left, offsetTop: top } = gpm.at("graph");
    return parts.map(({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => {
      const [x, y] = [offsetLeft - left, offsetTop - top];
      return { node: null, x1: x - 4, x2: x + offsetWidth + 4, y1: y, y2: y + offsetHeight + 4 };
    });
  };

  gpm.placeLabels = (cy) => {
    const zoom = cy.zoom();
    const taken = new Taken();
    const { chosen } = gpm.state;
    const isNear = (node) => chosen && (node === chosen || chosen.a === node || chosen.b === node);
    const views = gpm.drawn.nodes.map((node) => {
      const element = cy.getElementById(node.id);
      const { x, y } = element.renderedPosition();
      return { node, element, x, y, radius: (element.data("size") / 2) * zoom };
    });
    const inside = views.filter(({ x, y }) => x > -60 && y > -20 && x < cy.width() + 60 && y < cy.height() + 20);
    for (const { node, x, y, radius } of inside) taken.add(around(node, x, y, radius, radius));
    const heads = arrowheads(views, zoom);
    const buttons = new Taken();
    for (const box of fixed()) buttons.add(box);
    const labels = new Taken();
    const room = cy.width() / WIDTH_EACH;
    const isOut = ({ x1, x2, y1, y2 }) => x1 < 2 || y1 < 2 || x2 > cy.width() - 2 || y2 > cy.height() - 2 || buttons.clashes({ node: undefined, x1, x2, y1, y2 });
    inside.sort((p, q) => isNear(q.node) - isNear(p.node) || q.node.degree - p.node.degree || p.node.at - q.node.at);
    cy.batch(() => {
      cy.nodes().addClass("unlabelled");
      inside.forEach(({ node, element, x, y, radius }, rank) => {
        const [half, tall] = [halfWidth(node), PIXELS * 0.55];
        const boxes = PLACES.map(([, , dx, dy, gap]) => around(node, x + dx * (radius + gap + half), y + dy * (radius + gap + tall), half, tall));
        const matters = views.length <= room || isNear(node) || rank < Math.min(HUBS, room / 2);
        const first = (isGood) => boxes.findIndex((box, at) => (matters || at < BESIDE.length) && isGood(box) && !labels.clashes(box));
        let place = first((box) => !isOut(box) && !taken.clashes(box) && !heads.clashes(box));
        if (place < 0) place = first((box) => !isOut(box) && !taken.clashes(box));
        if (place < 0 && matters) place = first((box) => !isOut(box));
        if (place < 0 && isNear(node)) place = 0;
        [node.place, node.box] = place < 0 ? [null, null] : [PLACES[place], boxes[place]];
        if (place < 0) return;
        labels.add(boxes[place]);
        const [vertical, horizontal, dx, dy, gap] = PLACES[place];
        element.removeClass("unlabelled").style({
          "font-size": PIXELS / zoom, "text-outline-width": 2.2 / zoom, "text-valign": vertical, "text-halign": horizontal,
          "text-margin-x": (dx * gap) / zoom, "text-margin-y": (dy * gap) / zoom,
        });
      });
    });
  };

  let waiting = null;
  gpm.placeLabelsSoon = (cy) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => gpm.placeLabels(cy), 60);
  };
})();
