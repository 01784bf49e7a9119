"use strict";
// The view (cutoff, least strength, colours, what is open and chosen) in the address, so that a link leads to it; and on paper
// everything: folded parts open, all rows, light colours.
(() => {
  const MARK = "#view?";

  const written = () => {
    const { cutoff, strength, colour, open, chosen } = gpm.state;
    const view = new URLSearchParams();
    if (gpm.data.cutoff && cutoff !== gpm.data.cutoff.value) view.set("cutoff", Number(cutoff.toPrecision(6)));
    if (strength !== gpm.backbone) view.set("strength", Number(strength.toPrecision(6)));
    if (colour !== gpm.startColour) view.set("colour", colour);
    if (gpm.isGrouped && !gpm.isOverview()) view.set("open", open === "all" ? open : open.join("."));
    if (chosen && chosen.a) view.append("pair", chosen.a.name), view.append("pair", chosen.b.name);
    else if (chosen) view.set("node", chosen.name);
    return String(view);
  };

  const remember = () => {
    const view = written();
    // A page inside a notebook has no address of its own.
    if (location.protocol === "about:" || (!view && !location.hash.startsWith(MARK))) return;
    history.replaceState(null, "", view ? MARK + view : location.pathname + location.search);
  };

  const inRange = (text, low, high) => {
    const value = Number(text);
    return text !== null && text !== "" && value >= low && value <= high ? value : null;
  };

  const restore = () => {
    if (!location.hash.startsWith(MARK)) return;
    const view = new URLSearchParams(location.hash.slice(MARK.length));
    const patch = {};
    const cutoff = gpm.data.cutoff ? inRange(view.get("cutoff"), 1e-16, 1) : null;
    const strength = inRange(view.get("strength"), 0, gpm.heaviest);
    if (cutoff !== null) patch.cutoff = cutoff;
    if (strength !== null) patch.strength = strength;
    if (["kind", "community"].includes(view.get("colour"))) patch.colour = view.get("colour");
    if (gpm.isGrouped && view.has("open")) {
      const keys = view.get("open").split(".").map(Number);
      if (view.get("open") === "all") patch.open = "all";
      else if (keys.length <= 2 && keys.every((key) => gpm.group(key))) patch.open = keys;
    }
    gpm.change(patch);
    const [a, b] = view.getAll("pair");
    const pair = gpm.pairs.find((item) => item.a.name === a && item.b.name === b);
    const chosen = pair || gpm.nodes.find((node) => node.name === view.get("node"));
    if (chosen) gpm.choose(chosen, false);
  };

  const startPrint = () => {
    let undo = [];
    window.addEventListener("beforeprint", () => {
      const { dataset } = document.documentElement;
      const folded = [...document.querySelectorAll("details:not([open])")];
      const theme = dataset.theme;
      folded.forEach((part) => (part.open = true));
      dataset.theme = "light";
      gpm.forgetColours();
      gpm.emit("print", true);
      gpm.emit("theme");
      // Paper is narrower than most screens, and a canvas does not follow: the picture is drawn again, to any width.
      const { root: picture } = gpm.pictureSvg();
      picture.setAttribute("class", "paper");
      gpm.at("graph").before(picture);
      undo = [
        () => picture.remove(),
        () => folded.forEach((part) => (part.open = false)),
        () => (theme ? (dataset.theme = theme) : delete dataset.theme),
        () => gpm.forgetColours(),
        () => gpm.emit("print", false),
        () => gpm.emit("theme"),
      ];
    });
    window.addEventListener("afterprint", () => undo.splice(0).forEach((step) => step()));
  };

  gpm.restoreView = restore;
  gpm.startAddress = () => {
    gpm.on("change", remember);
    gpm.on("choose", remember);
    window.addEventListener("hashchange", restore);
    startPrint();
  };
})();
