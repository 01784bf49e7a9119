"use strict";
// Tables that sort by a click on a heading, filter as one types, and are walked through with the arrow keys.
(() => {
  const { el } = gpm;
  const STEP = 100;

  class GridTable {
    // columns: {name, value(row), text(row), className}; rows(isPrinted): all rows; search(row): text to filter by; open(row)
    constructor(host, { label, columns, rows, search, open, sort }) {
      Object.assign(this, { columns, rows, search, open, sort, most: STEP, words: "" });
      this.says = el("span", { role: "status" });
      this.filter = el("input", { type: "search", placeholder: "Filter by name", "aria-label": `Filter ${label}`, autocomplete: "off" });
      this.filter.addEventListener("input", () => {
        this.words = this.filter.value.trim().toLowerCase();
        this.most = STEP;
        this.draw();
      });
      this.headings = columns.map((column) =>
        el("th", { scope: "col", class: column.className }, el("button", { type: "button", title: column.title, onclick: () => this.sortBy(column) }, column.name)),
      );
      this.body = el("tbody", {});
      this.body.addEventListener("keydown", (event) => this.onKey(event));
      this.body.addEventListener("click", (event) => this.openRow(event.target.closest("tr")));
      this.more = el("button", { type: "button", class: "more", onclick: () => { this.most += 5 * STEP; this.draw(); } });
      const table = el("table", { class: "grid", "aria-label": label }, el("thead", {}, el("tr", {}, this.headings)), this.body);
      host.replaceChildren(el("div", { class: "table-tools" }, this.filter, this.says), el("div", { class: "scroll" }, table, this.more));
      this.draw();
      gpm.on("print", (isOn) => {
        this.isPrinted = isOn;
        this.draw();
      });
    }

    sortBy(column) {
      const isSame = this.sort.column === column.name;
      this.sort = { column: column.name, down: isSame ? !this.sort.down : column.className === "number" };
      this.draw();
    }

    draw() {
      const { column, down } = this.sort;
      const key = this.columns.find(({ name }) => name === column).value;
      const compare = (p, q) => {
        const [a, b] = [key(p), key(q)];
        if (a === null || b === null) return (a === null) - (b === null); // unknown figures last, either way
        const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
        return (down ? -order : order) || p.at - q.at;
      };
      const all = this.rows(this.isPrinted);
      this.found = all.filter((row) => !this.words || this.search(row).toLowerCase().includes(this.words)).sort(compare);
      this.headings.forEach((heading, at) => {
        const isSorted = this.columns[at].name === column;
        if (isSorted) heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        else heading.removeAttribute("aria-sort");
      });
      const drawn = this.isPrinted ? this.found : this.found.slice(0, this.most);
      this.body.replaceChildren(...drawn.map((row, at) => this.line(row, at)));
      this.says.textContent = `${this.found.length.toLocaleString("en")} of ${all.length.toLocaleString("en")}`;
      const left = this.found.length - drawn.length;
      this.more.hidden = left <= 0;
      this.more.textContent = `Show ${Math.min(left, 5 * STEP)} more`;
    }

    line(row, at) {
      const cells = this.columns.map(({ text, className }) => el("td", { class: className }, text(row)));
      return el("tr", { tabindex: at ? -1 : 0, "data-row": at }, cells);
    }

    openRow(line) {
      if (line) this.open(this.found[Number(line.dataset.row)]);
    }

    onKey(event) {
      const line = event.target.closest("tr");
      const lines = [...this.body.children];
      const at = lines.indexOf(line);
      const goal = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") this.openRow(line);
      else if (goal === undefined) return;
      else if (lines[goal]) {
        line.tabIndex = -1;
        lines[goal].tabIndex = 0;
        lines[goal].focus();
      }
      event.preventDefault();
    }
  }

  const name = (node) => el("bdi", {}, gpm.short(node.name, 120));
  const figure = (key, show = gpm.number) => ({ name: key.replace("_value", ""), value: (pair) => pair[key], text: (pair) => show(pair[key]), className: "number" });

  // What a search over directed graphs says of a pair, unknown where it joined it in no way.
  const said = (key, show) => ({ value: (pair) => pair.rests && pair.rests[key], text: (pair) => (pair.rests ? show(pair.rests[key]) : "") });
  const LINKS = { "->": "→", "<-": "←", "--": "—" };
  const direction = { name: "direction", ...said("direction", (way) => LINKS[way] || "···"), className: "way" };
  const rests = [
    { name: "kind", ...said("on", (words) => gpm.short(words, 120)), className: "text" },
    { name: "evidence", ...said("evidence", gpm.number), className: "number" },
  ];

  const RESAMPLED_NAMES = { stability: "stability", stability_forward: "→ in halves", stability_backward: "← in halves" };

  gpm.openItem = (item) => {
    gpm.choose(item, false);
    gpm.at("network").scrollIntoView({ behavior: gpm.still() ? "auto" : "smooth" });
    gpm.at("panel").focus({ preventScroll: true });
  };

  const found = { name: "found", value: (pair) => Number(!pair.isEdge), text: (pair) => (pair.isEdge ? "edge" : "came close"), className: "kind" };

  // The rank correlation with nothing given; an arrow turning round where its sign is the other one.
  const marginal = (pair) => (gpm.flips(pair) ? "⇄ " : "") + gpm.marginal(pair);

  const edgesTable = () =>
    new GridTable(gpm.at("edges-table"), {
      label: "edges",
      rows: (isPrinted) => (isPrinted ? gpm.shown.passed : gpm.shown.pairs), // paper cannot be asked for weaker edges
      search: (pair) => `${pair.a.name}\n${pair.b.name}`,
      open: gpm.openItem,
      sort: { column: gpm.hasStrength ? "strength" : "omega", down: true },
      columns: [
        { name: "variable", value: (pair) => pair.a.name, text: (pair) => name(pair.a), className: "name" },
        ...(gpm.hasDirections ? [direction] : []),
        { name: "and", value: (pair) => pair.b.name, text: (pair) => name(pair.b), className: "name" },
        ...(gpm.hasDirections ? rests : []),
        figure("strength", gpm.strength),
        { name: "95% interval", value: (pair) => pair.strength_low, text: gpm.interval, className: "number" },
        { name: "sign", value: (pair) => pair.sign, text: (pair) => gpm.sign(pair.sign), className: "number" },
        ...(gpm.hasMarginal ? [{ name: "rank corr.", value: (pair) => pair.marginal, text: (pair) => marginal(pair), className: "number" }] : []),
        figure("omega"),
        figure("p_value", gpm.probability),
        ...(gpm.hasQ ? [figure("q_value", gpm.probability)] : []),
        ...gpm.resampled.map((key) => ({ ...figure(key), name: RESAMPLED_NAMES[key] })),
        ...(gpm.rowsDiffer ? [{ name: "rows", value: (pair) => pair.n_rows, text: (pair) => gpm.rows(pair.n_rows), className: "number" }] : []),
        ...(gpm.hasNear ? [found] : []),
      ],
    });

  const words = (node) => [node.why, node.notes].filter(Boolean).join("; ");

  const fixed = (value) => value.toFixed(2).replace("-", "−");
  const sums = [
    ["strength", "strength", "Sum of the strengths of its edges"],
    ["expected influence", "influence", "Sum of the strengths of its edges with their signs"],
    ["bridge", "bridge", "Sum of the strengths of its edges to other communities"],
  ].map(([heading, key, title]) => ({ name: heading, value: (node) => node[key], text: (node) => fixed(node[key]), className: "number", title }));

  const variablesTable = () =>
    new GridTable(gpm.at("variables-table"), {
      label: "variables",
      rows: () => gpm.nodes,
      search: (node) => node.name,
      open: gpm.openItem,
      sort: { column: "edges", down: true },
      columns: [
        { name: "variable", value: (node) => node.name, text: name, className: "name" },
        { name: "kind", value: (node) => node.kind, text: (node) => node.kind, className: "kind" },
        { name: "edges", value: (node) => node.degree, text: (node) => node.degree.toLocaleString("en"), className: "number" },
        ...(gpm.hasStrength ? sums : []),
        { name: "community", value: (node) => node.community, text: (node) => String(node.community + 1), className: "number" },
        { name: "missing", value: (node) => node.missing, text: (node) => (node.missing ? node.missing.toLocaleString("en") : ""), className: "number" },
        { name: "values", value: (node) => node.range, text: (node) => node.range && gpm.short(node.range, 90), className: "text" },
        { name: "why, and notes", value: (node) => node.why, text: (node) => words(node) && gpm.short(words(node), 160), className: "text" },
      ],
    });

  gpm.startTables = () => {
    const edges = edgesTable();
    variablesTable();
    gpm.on("change", () => edges.draw());
  };
})();
