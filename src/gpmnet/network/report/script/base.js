"use strict";
// Small tools that every part uses. All text from the data enters the page through textContent, never as markup.
const gpm = {};

gpm.data = JSON.parse(document.getElementById("report-data").textContent);
gpm.at = (id) => document.getElementById(id);

gpm.el = (tag, attributes = {}, ...children) => gpm.fill(document.createElement(tag), attributes, children);
gpm.svg = (tag, attributes = {}, ...children) =>
  gpm.fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

gpm.fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") Object.assign(element.style, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
};

// Characters that cannot be seen, or that turn the direction of the text, are shown as escapes.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]/gu;
const ESCAPES = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
gpm.plain = (text) =>
  (String(text).trim() ? String(text) : "(blank)").replace(UNSEEN, (c) => ESCAPES[c] || "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

gpm.short = (text, most) => {
  const letters = Array.from(gpm.plain(text));
  return letters.length <= most ? letters.join("") : letters.slice(0, most - 1).join("") + "…";
};

// Three significant digits, as `number` and `probability` in words.py.
gpm.number = (value) => {
  if (value === null || value === undefined) return "";
  const size = Math.abs(Number(value.toPrecision(3)));
  if (size >= 1000 && size < 1e9) return Math.round(value).toLocaleString("en");
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
    const [digits, power] = value.toExponential(2).split("e");
    return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  return String(Number(value.toPrecision(3)));
};
gpm.strength = (value) => (value === null ? "" : value > 0 && value < 0.005 ? "< 0.01" : value.toFixed(2));
gpm.probability = (value) => (value !== null && value < 1e-16 ? "< 1e-16" : gpm.number(value));
gpm.rows = (value) => (value === null ? "" : value.toLocaleString("en"));
gpm.interval = ({ strength_low: low, strength_high: high }) => (low === null || high === null ? "" : `${low.toFixed(2)} to ${high.toFixed(2)}`);
gpm.count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
gpm.sign = (sign) => (sign > 0 ? "+" : sign < 0 ? "−" : "");
gpm.signWord = (sign) => (sign > 0 ? "positive" : sign < 0 ? "negative" : sign === 0 ? "no single sign" : "");

// Colours of groups, as in colours.py but a yellow that can be read on white.
gpm.PALETTE = { blue: "#0072b2", orange: "#e69f00", green: "#009e73", pink: "#cc79a7", red: "#d55e00", sky: "#56b4e9", yellow: "#b3a100", grey: "#7d8995" };
gpm.palette = (names) => names.split(" ").map((name) => gpm.PALETTE[name]);

// The theme's colours, read once a theme: thousands of nodes and lines ask for them.
const colours = new Map();
gpm.colour = (name) => {
  if (!colours.has(name)) {
    colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return colours.get(name);
};
gpm.forgetColours = () => colours.clear();
gpm.signColour = (sign) => gpm.colour(sign > 0 ? "positive" : sign < 0 ? "negative" : "no-sign");

// Mix two #rrggbb colours.
gpm.mix = (from, to, share) => {
  const part = (colour, at) => parseInt(colour.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * share));
  return `rgb(${mixed.join(",")})`;
};

// A canvas of so many pixels of the page, sharp on every screen.
gpm.pen = (canvas, width, height) => {
  const ratio = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
};

// Words beside the mouse, within the card around a canvas; none hide them.
gpm.tip = (tip, event, words) => {
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const box = tip.parentElement.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 6))}px`;
  tip.style.top = `${event.clientY - box.top + 14}px`;
};

const listeners = {};
gpm.on = (event, listener) => (listeners[event] ||= []).push(listener);
gpm.emit = (event, detail) => (listeners[event] || []).forEach((listener) => listener(detail));

gpm.still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
