"use strict";
// What is shown, as files: CSV as edges.csv has it, GraphML as network.graphml has it, and the picture.
(() => {
  const FIGURES = ["omega", "strength", "strength_low", "strength_high", "sign", "p_value", "q_value", "marginal", "n_rows", ...gpm.resampled];

  const save = (name, content, type) => {
    const link = gpm.el("a", { download: name, href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  const quoted = (text) => (/[",\s\u0000]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  // A name that a spreadsheet would run as a formula gets an apostrophe in front; half a character, which UTF-8 cannot
  // hold, is written \udXXX.
  const name = (text) => {
    const whole = text.replace(/[\ud800-\udfff]/gu, (c) => "\\u" + c.charCodeAt(0).toString(16));
    return quoted(/^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(whole) ? `'${whole}` : whole);
  };
  const plain = (value) => quoted(value === null ? "" : String(value));

  // What a search over directed graphs says of a pair; null where it says nothing.
  const SAID = gpm.hasDirections ? ["kind", "direction", "evidence", "common_effects"] : [];
  const ascii = (text) => text.replace(/[^\u0020-\u007e]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  const said = ({ rests }, key) => {
    const value = rests ? rests[key] : null;
    if (Array.isArray(value)) return value.length ? ascii(JSON.stringify(value)) : null;
    return value === "" ? null : value;
  };

  // Of communities that stand for their variables, the variables.
  const inView = () => (gpm.isOverview() ? gpm.shown : gpm.drawn);

  gpm.csv = () => {
    const lines = inView().pairs.map((pair) => {
      const figures = [...FIGURES.map((key) => pair[key]), ...SAID.map((key) => said(pair, key)), pair.isEdge];
      return [name(pair.a.name), name(pair.b.name), ...figures.map(plain)];
    });
    return [["source", "target", ...FIGURES, ...SAID, "is_edge"], ...lines].map((line) => line.join(",") + "\n").join("");
  };

  // As gpmnet.network.escape: what XML forbids is written \uXXXX, the backslash doubled.
  const FORBIDDEN = /[^\t\n\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\\/gu;
  const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;" };
  const escape = (name) =>
    name
      .replace(FORBIDDEN, (c) => (c === "\\" ? "\\\\" : "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")))
      .replace(/[&<>"\n\t]/g, (c) => MARKUP[c]);

  const EDGE_SAID = SAID.filter((key) => key !== "common_effects"); // as in network.graphml
  gpm.graphml = () => {
    const data = (key, value) => `<data key="${key}">${value}</data>`;
    const keys = [
      `<key id="name" for="node" attr.name="name" attr.type="string"/>`,
      `<key id="kind" for="node" attr.name="kind" attr.type="string"/>`,
      ...FIGURES.map((key) => `<key id="${key}" for="edge" attr.name="${key}" attr.type="double"/>`),
      ...EDGE_SAID.map((key) => `<key id="edge_${key}" for="edge" attr.name="${key}" attr.type="${key === "evidence" ? "double" : "string"}"/>`),
      `<key id="is_edge" for="edge" attr.name="is_edge" attr.type="boolean"/>`,
    ];
    const nodes = inView().nodes.map((node) => {
      const id = escape(node.name);
      return `<node id="${id}">${data("name", id)}${data("kind", node.kind)}</node>`;
    });
    const edges = inView().pairs.map((pair) => {
      const known = FIGURES.filter((key) => pair[key] !== null).map((key) => data(key, pair[key]));
      known.push(...EDGE_SAID.filter((key) => said(pair, key) !== null).map((key) => data(`edge_${key}`, escape(String(said(pair, key))))));
      return `<edge source="${escape(pair.a.name)}" target="${escape(pair.b.name)}">${known.join("")}${data("is_edge", pair.isEdge)}</edge>`;
    });
    return [
      `<?xml version="1.0" encoding="utf-8"?>`,
      `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">`,
      ...keys,
      `<graph edgedefault="undirected">`,
      ...nodes,
      ...edges,
      `</graph>`,
      `</graphml>\n`,
    ].join("\n");
  };

  gpm.startDownloads = () => {
    gpm.at("save-csv").addEventListener("click", () => save("edges-shown.csv", gpm.csv(), "text/csv"));
    gpm.at("save-graphml").addEventListener("click", () => save("network-shown.graphml", gpm.graphml(), "application/xml"));
    gpm.at("save-svg").addEventListener("click", () => save("network-shown.svg", gpm.pictureSvg().text, "image/svg+xml"));
    gpm.at("save-pdf").addEventListener("click", async () => save("network-shown.pdf", await gpm.picturePdf(gpm.pictureSvg())));
    gpm.at("save-png").addEventListener("click", async () => save("network-shown.png", await gpm.picturePng(gpm.pictureSvg())));
  };
})();
