"use strict";
// Sliders, switches, search, legend and theme.
(() => {
  const { el, at } = gpm;
  const fitted = gpm.data.cutoff;
  const TOP = 1000;
  const MOST_HITS = 8;

  // The cutoff's slider is logarithmic, from just below the smallest known figure to 1.
  const known = fitted ? gpm.pairs.map((pair) => pair[fitted.figure]).filter((value) => value !== null && value >= 1e-16) : [];
  const lowest = Math.max(-16, Math.floor(Math.log10(Math.min(fitted ? fitted.value / 10 : 1, ...known))));
  const toPlace = (value) => Math.round(TOP * (1 - Math.log10(value) / lowest));
  const toCutoff = (place) => {
    if (Math.abs(place - toPlace(fitted.value)) <= 6) return fitted.value; // the fitted cutoff is easy to find again
    return 10 ** (lowest * (1 - place / TOP));
  };

  const startCutoff = () => {
    if (!fitted || !known.length) {
      at("cutoff-field").hidden = true;
      return;
    }
    const slider = at("cutoff");
    const show = () => {
      if (toCutoff(Number(slider.value)) !== gpm.state.cutoff) slider.value = toPlace(gpm.state.cutoff);
      const isFitted = gpm.state.cutoff === fitted.value;
      const words = `${fitted.letter} ≤ ${gpm.number(gpm.state.cutoff)}`;
      at("cutoff-value").textContent = isFitted ? `${words} (as fitted)` : words;
      slider.setAttribute("aria-valuetext", words);
      at("cutoff-reset").hidden = isFitted;
    };
    slider.value = toPlace(gpm.state.cutoff);
    slider.addEventListener("input", () => gpm.change({ cutoff: toCutoff(Number(slider.value)) }));
    at("cutoff-reset").addEventListener("click", () => {
      slider.value = toPlace(fitted.value);
      gpm.change({ cutoff: fitted.value });
      slider.focus();
    });
    gpm.on("change", show);
    show();
  };

  const startStrength = () => {
    const slider = at("strength");
    const show = () => {
      slider.value = Math.round((100 * gpm.state.strength) / gpm.heaviest);
      at("strength-value").textContent = gpm.number(gpm.state.strength);
      slider.setAttribute("aria-valuetext", gpm.number(gpm.state.strength));
      at("strength-reset").hidden = gpm.state.strength === 0;
    };
    slider.addEventListener("input", () => gpm.change({ strength: (Number(slider.value) / 100) * gpm.heaviest }));
    at("strength-reset").addEventListener("click", () => {
      slider.value = 0;
      gpm.change({ strength: 0 });
      slider.focus();
    });
    gpm.on("change", show);
    show();
  };

  const startStability = () => {
    const slider = at("stability");
    at("stability-field").hidden = !gpm.resampled.length;
    const show = () => {
      at("stability-value").textContent = gpm.number(gpm.state.stability);
      slider.setAttribute("aria-valuetext", gpm.number(gpm.state.stability));
    };
    slider.addEventListener("input", () => gpm.change({ stability: Number(slider.value) / 100 }));
    gpm.on("change", show);
    show();
  };

  const toggle = (label, isOn, change, colour) =>
    el("label", {}, el("input", { type: "checkbox", checked: isOn, onchange: (event) => change(event.target.checked) }), colour ? el("span", { class: "swatch", style: { background: colour, margin: 0 } }) : null, label);

  const startKinds = () => {
    const chips = gpm.kinds.map((kind) =>
      toggle(kind, true, (isOn) => {
        const kinds = new Set(gpm.state.kinds);
        isOn ? kinds.add(kind) : kinds.delete(kind);
        gpm.change({ kinds });
      }, gpm.colour(kind)),
    );
    const isolated = toggle("without an edge", gpm.state.isolated, (isOn) => gpm.change({ isolated: isOn }));
    isolated.firstChild.id = "isolated";
    at("kind-chips").append(...(gpm.kinds.length > 1 ? chips : []), isolated);
    gpm.on("change", () => (at("colour").value = gpm.state.colour));
    at("colour").value = gpm.state.colour;
    at("colour").addEventListener("change", (event) => gpm.change({ colour: event.target.value }));
  };

  const startSearch = () => {
    const field = at("search");
    at("names").append(...gpm.nodes.map((node) => el("option", { value: gpm.plain(node.name) })));
    const find = () => {
      const words = field.value.trim().toLowerCase();
      if (!words) return;
      const named = gpm.nodes.map((node) => [node, gpm.plain(node.name).toLowerCase()]);
      const hits = named.filter(([, name]) => name.includes(words));
      if (!hits.length) {
        at("search-says").textContent = "No variable on this page has that in its name.";
        return;
      }
      const [best] = hits.find(([, name]) => name === words) || hits.find(([, name]) => name.startsWith(words)) || hits[0];
      const others = hits.map(([node]) => node).filter((node) => node !== best);
      const more = others.length > MOST_HITS ? [` and ${others.length - MOST_HITS} more`] : [];
      at("search-says").replaceChildren(
        gpm.short(best.name, 40),
        ...(others.length ? ["; also: ", ...others.slice(0, MOST_HITS).flatMap((node, k) => [k ? ", " : "", hit(node)]), ...more] : []),
      );
      open(best);
    };
    const hit = (node) => el("button", { type: "button", class: "link", onclick: () => open(node) }, gpm.short(node.name, 30));
    const open = (node) => {
      if (!gpm.shown.isShown.has(node)) {
        at("isolated").checked = true;
        gpm.change({ isolated: true });
      }
      gpm.choose(node);
    };
    field.addEventListener("change", find);
    field.addEventListener("keydown", (event) => event.key === "Enter" && find());
  };

  const mark = (draw) => gpm.svg("svg", { width: 20, height: 12, viewBox: "0 0 20 12", "aria-hidden": "true" }, draw);
  const lineMark = (colour, dash) => mark(gpm.svg("line", { x1: 0, x2: 20, y1: 6, y2: 6, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash }));
  const NODE_MARKS = {
    continuous: (fill) => gpm.svg("circle", { cx: 10, cy: 6, r: 5, fill }),
    ordinal: (fill) => gpm.svg("path", { d: "M10 0 16 6 10 12 4 6Z", fill }),
    discrete: (fill) => gpm.svg("rect", { x: 5, y: 1, width: 10, height: 10, rx: 2, fill }),
    unknown: (fill) => gpm.svg("circle", { cx: 10, cy: 6, r: 5, fill }),
  };

  // What the marks in the picture mean: an icon of 20 x 12 pixels and a word each.
  gpm.legend = () => {
    const entry = (icon, words) => ({ icon, words });
    const grey = gpm.colour("no-sign");
    if (gpm.isOverview()) {
      return [
        entry(mark(NODE_MARKS.continuous(grey)), "a community, the larger the more variables"),
        entry(lineMark(grey), "edges between two, the wider the more and the stronger"),
      ];
    }
    const nodes =
      gpm.state.colour === "kind"
        ? gpm.kinds.map((kind) => entry(mark(NODE_MARKS[kind](gpm.colour(kind))), kind))
        : gpm.communities.filter((label) => gpm.drawn.nodes.some((node) => node.community === label)).map((label) => entry(mark(NODE_MARKS.continuous(gpm.communityColour(label))), `community ${label + 1}`));
    const signs = [[1, "positive"], [-1, "negative"], [0, "no single sign"]].filter(([sign]) => gpm.drawn.pairs.some((pair) => Math.sign(pair.sign) === sign));
    const near = gpm.drawn.pairs.some((pair) => !pair.isEdge) ? [entry(lineMark(gpm.colour("no-sign"), "5 3"), "came close")] : [];
    const rests = (kind) => gpm.drawn.pairs.some((pair) => pair.rests && (pair.rests.kind === kind || pair.rests.direction === kind));
    const arrow = mark(gpm.svg("path", { d: "M0 6H12M12 1 20 6 12 11Z", stroke: gpm.colour("no-sign"), "stroke-width": 3, fill: gpm.colour("no-sign") }));
    const ways = [
      ...(rests("->") || rests("<-") ? [entry(arrow, "direction known")] : []),
      ...(rests("--") ? [entry(lineMark(gpm.colour("no-sign")), "direction open")] : []),
      ...(rests("co-parents") ? [entry(lineMark(gpm.colour("no-sign"), "1 4"), "causes of a common effect")] : []),
    ];
    return [...nodes, ...signs.map(([sign, words]) => entry(lineMark(gpm.signColour(sign)), words)), ...ways, ...near];
  };

  const drawLegend = () => at("legend").replaceChildren(...gpm.legend().map(({ icon, words }) => el("span", {}, icon, words)));

  // What of it is in the picture, where that is not all.
  const inView = () => {
    const { open } = gpm.state;
    if (open === "all") return "";
    if (!open.length) return ` In the picture: ${gpm.drawn.nodes.filter((group) => group.key >= 0).length} communities, each under the name of its variable with most edges. Choose one to open it.`;
    const inside = gpm.drawn.pairs.length;
    const across = gpm.shown.pairs.filter((pair) => gpm.keysOf(pair).some((key) => open.includes(key))).length - inside;
    return ` In the picture: ${open.map((key) => gpm.group(key).title.toLowerCase()).join(" and ")}, ${gpm.count(gpm.drawn.nodes.length, "variable")} with ${gpm.count(inside, "edge")} among them; ${gpm.count(across, "edge")} to others.`;
  };

  const drawShown = () => {
    const near = gpm.shown.pairs.filter((pair) => !pair.isEdge).length;
    const edges = gpm.shown.pairs.length - near;
    const closest = near ? ` and ${gpm.count(near, "pair")} that came close` : "";
    const all = gpm.data.n_edges === edges ? "" : `${edges.toLocaleString("en")} of `;
    const isBackbone = gpm.backbone && gpm.state.strength === gpm.backbone;
    const hint = isBackbone ? " The strongest, and of each variable its own strongest, are shown first; move the least strength to see more." : "";
    at("shown").replaceChildren("Shown: ", el("b", {}, `${all}${gpm.count(gpm.data.n_edges, "edge")}${closest}`), `, ${gpm.count(gpm.shown.nodes.length, "variable")}.${hint}${inView()}`);
  };

  const startTheme = () => {
    const [root, button] = [document.documentElement, at("theme")];
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const show = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-pressed", String(isDark()));
      button.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`);
    };
    const change = () => {
      show();
      gpm.forgetColours();
      gpm.emit("theme");
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      change();
    });
    system.addEventListener("change", change);
    show();
  };

  const startCopy = () => {
    const button = at("copy");
    if (!button || !navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(at("command").textContent).then(
        () => (button.textContent = "Copied"),
        () => (button.textContent = "Not allowed here"),
      ),
    );
  };

  gpm.startControls = () => {
    [startCutoff, startStrength, startStability, startKinds, startSearch, startCopy].forEach((start) => start());
    for (const button of document.querySelectorAll("[data-pair]")) {
      button.addEventListener("click", () => gpm.openItem(gpm.pairs[Number(button.dataset.pair)]));
    }
    const redraw = () => {
      drawLegend();
      drawShown();
    };
    gpm.on("change", redraw);
    gpm.on("theme", redraw);
    redraw();
    startTheme();
  };
})();
