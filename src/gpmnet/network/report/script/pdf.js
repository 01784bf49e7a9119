"use strict";
// The picture as a PDF of lines, curves and text: what `gpm.pictureSvg` drew, element by element, in 72 dots an inch.
(() => {
  const POINTS = 0.75; // of a pixel
  const CURVE = 0.5523; // how far the handles of a quarter of a circle reach
  const FONT = 12.5;
  // Widths of Helvetica in thousandths of its size: of the characters 32 to 126, and of 160 to 255.
  const ASCII =
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584";
  const LATIN =
    "278 333 556 556 556 556 260 556 333 737 370 556 584 333 737 333 400 584 333 333 333 556 537 278 333 333 365 556 834 834 834 611 667 667 667 667 667 667 1000 722 667 667 667 667 278 278 278 278 722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611 556 556 556 556 556 556 889 500 556 556 556 556 278 278 278 278 556 556 556 556 556 556 556 584 611 556 556 556 556 500 556 500";
  const MORE = { "€": [128, 556], "…": [133, 1000], "‘": [145, 222], "’": [146, 222], "“": [147, 333], "”": [148, 333], "•": [149, 350], "–": [150, 556], "—": [151, 1000], "™": [153, 1000] };
  const GLYPHS = new Map(Object.entries(MORE));
  ASCII.split(" ").forEach((width, at) => GLYPHS.set(String.fromCharCode(32 + at), [32 + at, Number(width)]));
  LATIN.split(" ").forEach((width, at) => GLYPHS.set(String.fromCharCode(160 + at), [160 + at, Number(width)]));

  const number = (value) => String(Number(Number(value).toFixed(3)));
  const put = (...values) => values.map((value) => (typeof value === "number" ? number(value) : value)).join(" ");
  const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const hex = (bytes) => `<${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}>`;

  const get = (element, name, otherwise = 0) => (element.hasAttribute(name) ? Number(element.getAttribute(name)) : otherwise);

  // An outline with rounded corners: a circle where they are round enough.
  const roundPath = (x, y, w, h, r) => {
    if (!r) return put(x, y, w, h, "re");
    const k = r * (1 - CURVE);
    const [right, bottom] = [x + w, y + h];
    return [
      put(x + r, y, "m"), put(right - r, y, "l"), put(right - k, y, right, y + k, right, y + r, "c"),
      put(right, bottom - r, "l"), put(right, bottom - k, right - k, bottom, right - r, bottom, "c"),
      put(x + r, bottom, "l"), put(x + k, bottom, x, bottom - k, x, bottom - r, "c"),
      put(x, y + r, "l"), put(x, y + k, x + k, y, x + r, y, "c"), "h",
    ].join("\n");
  };

  // Paths of M, L, H and Z, the only ones that the picture and its legend have; a pair without a letter goes on with a line.
  const linesPath = (text) => {
    const tokens = text.match(/[MLHZ]|-?\d*\.?\d+(?:e-?\d+)?/g);
    const out = [];
    let [letter, y] = ["M", 0];
    while (tokens.length) {
      if (/[MLHZ]/.test(tokens[0])) letter = tokens.shift();
      if (letter === "Z") out.push("h");
      else if (letter === "H") out.push(put(Number(tokens.shift()), y, "l"));
      else {
        const x = Number(tokens.shift());
        y = Number(tokens.shift());
        out.push(put(x, y, letter === "M" ? "m" : "l"));
        letter = "L";
      }
    }
    return out.join("\n");
  };

  const PATHS = {
    line: (e) => `${put(get(e, "x1"), get(e, "y1"), "m")}\n${put(get(e, "x2"), get(e, "y2"), "l")}`,
    rect: (e) => roundPath(get(e, "x"), get(e, "y"), get(e, "width"), get(e, "height"), get(e, "rx")),
    circle: (e) => roundPath(get(e, "cx") - get(e, "r"), get(e, "cy") - get(e, "r"), 2 * get(e, "r"), 2 * get(e, "r"), get(e, "r")),
    path: (e) => linesPath(e.getAttribute("d")),
  };

  const drawn = (element) => {
    const [fill, stroke] = [element.tagName === "line" ? null : element.getAttribute("fill"), element.getAttribute("stroke")];
    const dashes = element.getAttribute("stroke-dasharray");
    return [
      "q",
      element.hasAttribute("opacity") && `/A${Math.round(100 * get(element, "opacity"))} gs`,
      fill && put(...rgb(fill), "rg"),
      stroke && put(...rgb(stroke), "RG", get(element, "stroke-width", 1), "w"),
      dashes && `[${dashes}] 0 d`,
      PATHS[element.tagName](element),
      fill && stroke ? "B" : fill ? "f" : "S",
      "Q",
    ].filter(Boolean).join("\n");
  };

  const start = (anchor, x, width) => x - { start: 0, middle: 0.5, end: 1 }[anchor || "start"] * width;

  // Text in the font that every reader has; its halo is drawn first.
  const written = (element) => {
    const glyphs = [...element.textContent].map((letter) => GLYPHS.get(letter));
    const width = (glyphs.reduce((sum, glyph) => sum + glyph[1], 0) * FONT) / 1000;
    const x = start(element.getAttribute("text-anchor"), get(element, "x"), width);
    const show = `${put(1, 0, 0, -1, x, get(element, "y"), "Tm")} ${hex(glyphs.map((glyph) => glyph[0]))} Tj`;
    const stroke = element.getAttribute("stroke");
    const halo = stroke ? `${put(...rgb(stroke), "RG", get(element, "stroke-width"), "w")} 1 j 1 Tr ${show}\n` : "";
    return `q BT /F ${FONT} Tf\n${halo}${put(...rgb(element.getAttribute("fill")), "rg")} 0 Tr ${show}\nET Q`;
  };

  // Text in any other script, as the browser draws it: an image with its transparency.
  const SCALE = 4;
  const painted = (element, images) => {
    const pen = document.createElement("canvas").getContext("2d");
    const font = `${FONT * SCALE}px system-ui, sans-serif`;
    pen.font = font;
    const edge = 4;
    const [width, height] = [Math.ceil(pen.measureText(element.textContent).width / SCALE) + 2 * edge, 22];
    Object.assign(pen.canvas, { width: width * SCALE, height: height * SCALE });
    Object.assign(pen, { font, lineJoin: "round", fillStyle: element.getAttribute("fill") });
    const place = [element.textContent, edge * SCALE, 16 * SCALE];
    if (element.hasAttribute("stroke")) {
      Object.assign(pen, { strokeStyle: element.getAttribute("stroke"), lineWidth: get(element, "stroke-width") * SCALE });
      pen.strokeText(...place);
    }
    pen.fillText(...place);
    images.push(pen.getImageData(0, 0, pen.canvas.width, pen.canvas.height));
    const x = start(element.getAttribute("text-anchor"), get(element, "x"), width - 2 * edge) - edge;
    return `q ${put(width, 0, 0, -height, x, get(element, "y") + height - 16, "cm")} /I${images.length - 1} Do Q`;
  };

  const operators = (element, images) => {
    if (element.tagName === "title") return "";
    if (element.tagName === "svg") return `q ${put(1, 0, 0, 1, get(element, "x"), get(element, "y"), "cm")}\n${inside(element, images)}\nQ`;
    if (element.tagName !== "text") return drawn(element);
    return [...element.textContent].every((letter) => GLYPHS.has(letter)) ? written(element) : painted(element, images);
  };
  const inside = (element, images) => [...element.children].map((child) => operators(child, images)).join("\n");

  const deflated = async (bytes) => {
    const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const latin = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

  const imageObjects = async ({ width, height, data }, mask) => {
    const [colours, alpha] = [new Uint8Array(3 * width * height), new Uint8Array(width * height)];
    for (let at = 0; at < alpha.length; at++) {
      colours.set(data.subarray(4 * at, 4 * at + 3), 3 * at);
      alpha[at] = data[4 * at + 3];
    }
    const object = async (space, bytes, more) => {
      const packed = await deflated(bytes);
      return { head: `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /${space} /BitsPerComponent 8 /Filter /FlateDecode${more}`, packed };
    };
    return [await object("DeviceRGB", colours, ` /SMask ${mask} 0 R`), await object("DeviceGray", alpha, "")];
  };

  // Objects one after the other, and the table that says at which byte each begins.
  const assembled = (objects) => {
    const parts = [latin("%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n")];
    let length = parts[0].length;
    const add = (part) => {
      parts.push(part);
      length += part.length;
    };
    const offsets = objects.map(({ head, packed }, at) => {
      const begin = length;
      add(latin(`${at + 1} 0 obj\n<< ${head}${packed ? ` /Length ${packed.length}` : ""} >>\n`));
      if (packed) [latin("stream\n"), packed, latin("\nendstream\n")].forEach(add);
      add(latin("endobj\n"));
      return begin;
    });
    const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
    const end = length;
    add(latin(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n${end}\n%%EOF\n`));
    return new Blob(parts, { type: "application/pdf" });
  };

  const unicode = (text) => hex([0xfe, 0xff, ...[...Array(text.length).keys()].flatMap((at) => [text.charCodeAt(at) >> 8, text.charCodeAt(at) & 255])]);

  gpm.picturePdf = async ({ root, width, height }) => {
    const pixels = [];
    const content = `${put(POINTS, 0, 0, -POINTS, 0, height * POINTS, "cm")}\n${inside(root, pixels)}`;
    const first = 7; // the first image is the seventh object
    const images = (await Promise.all(pixels.map((image, at) => imageObjects(image, first + 2 * at + 1)))).flat();
    const named = pixels.map((_, at) => `/I${at} ${first + 2 * at} 0 R`).join(" ");
    const pale = [...new Set([...root.querySelectorAll("[opacity]")].map((element) => get(element, "opacity")))];
    const states = pale.map((value) => `/A${Math.round(100 * value)} << /ca ${value} /CA ${value} >>`).join(" ");
    const box = `[0 0 ${number(width * POINTS)} ${number(height * POINTS)}]`;
    return assembled([
      { head: "/Type /Catalog /Pages 2 0 R" },
      { head: "/Type /Pages /Kids [3 0 R] /Count 1" },
      { head: `/Type /Page /Parent 2 0 R /MediaBox ${box} /Contents 6 0 R /Resources << /Font << /F 5 0 R >> /ExtGState << ${states} >> /XObject << ${named} >> >>` },
      { head: `/Title ${unicode(root.querySelector("title").textContent)} /Producer (gpmnet)` },
      { head: "/Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding" },
      { head: "", packed: latin(content) },
      ...images,
    ]);
  };
})();
