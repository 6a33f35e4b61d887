// The legend of the diagram.

import { engineIn, inWords } from "./names.js";
import { markOf } from "./draw.js";
import { SOURCES_DRAWN, TYPES_DRAWN, sourceIcon, typeIcon } from "./icons.js";
import { html, svg } from "./svg.js";

const LINES = [
  ["edge data-flow", "data flows from left to right"],
  ["edge control-flow", "control flow: filter or join"],
  ["edge logical-physical", "stored at, or executed as"],
];

/** Returns the parts of the legend, each a list with a title. */
export function legend() {
  const types = TYPES_DRAWN.map((type) => item(typeIcon({ type }, 2, 2, 16), inWords(type)));
  const sources = SOURCES_DRAWN.map((type) => item(sourceIcon(type, 2, 2, 14), engineIn(type)));
  const lines = LINES.map(([kind, words]) => {
    const way = svg("path", { class: "way", d: "M0 10H28" });
    const tip = kind.includes("physical") ? null : svg("path", { class: "tip", d: "M36 10L28 6.5L28 13.5Z" });
    return item(svg("g", { class: kind }, way, tip), words, 38);
  });
  const others = [
    item(typeIcon({ placeholder: true }, 2, 2, 16), "placeholder: referenced, never extracted"),
    item(svg("path", { class: "sign hidden-sign", d: "M4 10h.1M10 10h.1M16 10h.1" }), "more nodes than can be shown: opens them in a new diagram"),
    item(svg("path", { class: "sign", d: "M7 5L12 10L7 15" }), "expand one level"),
    item(svg("path", { class: "sign", d: "M4 10h12M10 4v12" }), "its columns"),
    item(svg("path", { class: "sign", d: "M6 6h12v12H6zM3 15V3h12" }), "a group of more than 12 neighbours"),
    item(markOf("deleted-between", 2, [10, 10]), "number of deleted nodes on a line"),
    item(markOf("filtered-between", 2, [10, 10]), "number of nodes on a line that a filter hides"),
    html("li", {}, html("span", { class: "deleted" }, "name"), " deleted"),
    html("li", {}, html("i", { class: "dim" }, "name"), " column without known lineage"),
  ];
  return [list("Lines", lines, "wide"), list("Types", types), list("Sources", sources), list("Other symbols", others, "wide"), keyboard()];
}

function list(title, items, kind) {
  return html("div", {}, html("h2", { class: "small" }, title), html("ul", { class: kind }, ...items));
}

function item(sign, words, width = 20) {
  const drawn = svg("svg", { class: "picture-sign", width, height: 20, viewBox: `0 0 ${width} 20`, "aria-hidden": "true" }, sign);
  return html("li", {}, drawn, " ", words);
}

const KEYS = [
  ["← →", "follow edges"],
  ["↑ ↓", "next node above or below, and its columns"],
  ["/", "find tables and columns; Enter and Shift+Enter step through"],
  ["Enter", "show details; pin the path of a column; open collapsed nodes"],
  ["P", "pin the path of a node"],
  ["Space", "open or close the columns"],
  ["< >", "expand upstream, downstream"],
  ["+ − 0", "zoom in, zoom out, fit; Shift+arrow keys pan"],
  ["Page Up, Page Down", "scroll the columns of a long table"],
  ["F", "full screen"],
  ["Esc", "clear selection and pinned path"],
];

function keyboard() {
  const rows = KEYS.flatMap(([key, words]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, words)]);
  return html("div", {}, html("h2", { class: "small" }, "Keyboard"), html("dl", { class: "keys" }, ...rows));
}
