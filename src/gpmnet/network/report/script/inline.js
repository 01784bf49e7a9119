"use strict";
// The small network of a notebook: SVG that can be dragged, zoomed and asked; no library. Text enters as text only.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("net");
  const says = document.getElementById("says");
  const make = (tag, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const short = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + "…");

  // Pixels: the layout fills a box of 900 x 420.
  const reach = (key) => [Math.min(...data.nodes.map((node) => node[key])), Math.max(...data.nodes.map((node) => node[key]))];
  const [[left, right], [top, bottom]] = [reach("x"), reach("y")];
  const scale = Math.min(780 / (right - left || 1), 340 / (bottom - top || 1), 150);
  for (const node of data.nodes) {
    node.px = 450 + (node.x - (left + right) / 2) * scale;
    node.py = 205 + (node.y - (top + bottom) / 2) * scale;
    node.r = Math.min(16, 6 + 2.2 * Math.sqrt(node.degree));
  }
  const heaviest = Math.max(...data.edges.map((edge) => edge.weight), 1e-9);

  for (const edge of data.edges) {
    edge.line = make("line", { class: edge.sign > 0 ? "plus" : edge.sign < 0 ? "minus" : "none", "stroke-width": 1 + (5 * edge.weight) / heaviest });
    edge.wide = make("line", { class: "reach", "stroke-width": 12 });
    root.append(edge.line, edge.wide);
  }
  for (const node of data.nodes) {
    node.mark = make("circle", { class: node.kind, r: node.r, tabindex: 0, role: "button", "aria-label": node.name });
    node.text = make("text", {}, short(node.name, 24));
    root.append(node.mark);
  }
  root.append(...data.nodes.map((node) => node.text));

  const place = () => {
    for (const { a, b, line, wide } of data.edges) {
      const [p, q] = [data.nodes[a], data.nodes[b]];
      for (const drawn of [line, wide]) for (const [name, value] of Object.entries({ x1: p.px, y1: p.py, x2: q.px, y2: q.py })) drawn.setAttribute(name, value);
    }
    for (const { mark, text, px, py, r } of data.nodes) {
      mark.setAttribute("cx", px);
      mark.setAttribute("cy", py);
      text.setAttribute("x", px);
      text.setAttribute("y", py + r + 12);
    }
  };

  // Everything but an item and its neighbors fades; what is known of it stands below.
  const light = (edges, nodes, words) => {
    data.edges.forEach((edge) => edge.line.classList.toggle("faded", edges !== null && !edges.includes(edge)));
    data.nodes.forEach((node) => [node.mark, node.text].forEach((part) => part.classList.toggle("faded", nodes !== null && !nodes.includes(node))));
    says.textContent = words;
  };
  const start = () => light(null, null, data.hint);
  const showEdge = (edge) => light([edge], [data.nodes[edge.a], data.nodes[edge.b]], edge.says);
  const showNode = (node) => {
    const at = data.nodes.indexOf(node);
    const own = data.edges.filter((edge) => edge.a === at || edge.b === at);
    const others = own.map((edge) => data.nodes[edge.a === at ? edge.b : edge.a]);
    const listed = others.slice(0, 12).map((other) => short(other.name, 40)).join(", ") + (others.length > 12 ? ` and ${others.length - 12} more` : "");
    light(own, [node, ...others], `${node.name} (${node.kind}), joined to: ${listed}`);
  };

  let held = null;
  let view = [0, 0, 900, 420];
  const inside = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse());
  const look = () => root.setAttribute("viewBox", view.join(" "));
  for (const node of data.nodes) {
    node.mark.addEventListener("pointerdown", (event) => {
      held = { node };
      node.mark.setPointerCapture(event.pointerId);
      showNode(node);
      event.stopPropagation();
    });
    node.mark.addEventListener("focus", () => showNode(node));
  }
  for (const edge of data.edges) edge.wide.addEventListener("pointerdown", (event) => (showEdge(edge), event.stopPropagation()));
  root.addEventListener("pointerdown", (event) => ((held = { from: inside(event) }), start()));
  root.addEventListener("pointermove", (event) => {
    if (!held || !event.buttons) return;
    const { x, y } = inside(event);
    if (held.node) [held.node.px, held.node.py] = [x, y];
    else view = [view[0] + held.from.x - x, view[1] + held.from.y - y, view[2], view[3]];
    held.node ? place() : look();
  });
  root.addEventListener("pointerup", () => (held = null));
  root.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the notebook scrolls
    const { x, y } = inside(event);
    const ratio = event.deltaY > 0 ? 1.15 : 1 / 1.15;
    view = [x + (view[0] - x) * ratio, y + (view[1] - y) * ratio, view[2] * ratio, view[3] * ratio];
    look();
    event.preventDefault();
  }, { passive: false });
  place();
  look();
  start();
})();
