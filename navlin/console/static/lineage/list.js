// The same as a list: a table of edges, for screen readers and for what is too much for a picture.

import { inWords, oneLine } from "./names.js";
import { keyOf } from "./graph.js";
import { html } from "./svg.js";

const LISTED = 1000;
const KINDS = { DATA_FLOW: "data", CONTROL_FLOW: "steers", LOGICAL_PHYSICAL: "lies at, run as", INSTANCE_OF: "ran as" };

/** Fills the table body with the edges of a graph, and its caption; nodes without an edge follow. */
export function fillList(table, graph, acts) {
  const edges = [...graph.edges.values()];
  const rows = edges.slice(0, LISTED).map((edge) => edgeRow(edge, graph, acts));
  const joined = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
  const alone = [...graph.nodes.values()].filter((node) => !joined.has(node.id) && !graph.parts.has(node.id));
  rows.push(...alone.slice(0, LISTED).map((node) => html("tr", {}, cellOf(node, graph, acts), html("td", { colspan: 2 }))));
  const cut = edges.length > LISTED ? `, the first ${LISTED} listed` : "";
  table.querySelector("caption").textContent = `${count(graph.nodes.size, "node")}, ${count(edges.length, "edge")}${cut}`;
  table.querySelector("tbody").replaceChildren(...rows);
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function edgeRow(edge, graph, acts) {
  const passed = edge.via.filter((hop) => !/OPERATION$/.test(hop.type)).map((hop) => oneLine(hop.name));
  const flags = ["inferred", "incomplete", "parsed"].filter((flag) => edge[flag]);
  const key = keyOf(edge);
  return html(
    "tr",
    { "data-edge": key },
    cellOf(graph.nodes.get(edge.source), graph, acts),
    html(
      "td",
      {},
      html("button", { type: "button", class: "to-node", click: () => acts.select(key, true) }, KINDS[edge.type] ?? inWords(edge.type)),
      html("span", { class: "dim" }, [...passed.map((name) => ` through ${name}`), ...flags.map((flag) => ` ${flag}`)].join(",")),
    ),
    cellOf(graph.nodes.get(edge.target), graph, acts),
  );
}

function cellOf(node, graph, acts) {
  const start = node.id === graph.start ? html("span", { class: "dim" }, " start") : null;
  const states = node.placeholder ? html("span", { class: "dim" }, " never captured") : null;
  const attributes = { type: "button", class: `to-node${node.deleted ? " deleted" : ""}`, click: () => acts.select(node.id, true) };
  return html("td", { class: "name" }, html("button", attributes, oneLine(node.name)), node.deleted ? " deleted" : null, states, start);
}
