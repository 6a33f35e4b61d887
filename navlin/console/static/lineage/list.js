// The diagram as a table of edges, for screen readers and for graphs that are too large to draw.

import { breakable, counted, inWords, titleOf } from "./names.js";
import { keyOf } from "./graph.js";
import { html } from "./svg.js";

const LISTED = 1000;
const KINDS = { DATA_FLOW: "data", CONTROL_FLOW: "control", LOGICAL_PHYSICAL: "stored at", INSTANCE_OF: "execution" };

/** Fills the table's body and caption with the edges of a graph. Nodes without an edge follow. */
export function fillList(table, graph, acts) {
  const edges = betweenData(graph).toSorted(byNames(graph));
  const rows = edges.slice(0, LISTED).map((edge) => edgeRow(edge, graph, acts));
  const joined = new Set([...graph.edges.values()].flatMap((edge) => [edge.source, edge.target]));
  const alone = [...graph.nodes.values()].filter((node) => !joined.has(node.id) && !graph.parts.has(node.id) && !node.idle);
  rows.push(...alone.slice(0, LISTED).map((node) => html("tr", {}, cellOf(node, graph, acts), html("td", { colspan: 2 }))));
  const cut = edges.length > LISTED ? `, the first ${LISTED} listed` : "";
  table.querySelector("caption").textContent = `${counted(joined.size + alone.length, "node")}, ${counted(edges.length, "edge")}${cut}`;
  table.querySelector("tbody").replaceChildren(...rows);
}

/** Returns the edges of a graph, with each edge into a sub-operation joined to the edges out of it, because
 * readers think in statements, not in sub-operations. */
function betweenData(graph) {
  const isPart = (id) => graph.nodes.get(id).type === "SUB_OPERATION";
  const found = new Map();
  for (const edge of graph.edges.values()) {
    if (isPart(edge.source) && graph.into.has(edge.source)) continue;
    if (!isPart(edge.target) || !graph.outOf.has(edge.target)) {
      found.set(keyOf(edge), { edge, key: keyOf(edge), via: edge.via });
      continue;
    }
    for (const onward of graph.outOf.get(edge.target) ?? []) {
      const control = [edge, onward].some((each) => each.type === "CONTROL_FLOW");
      const joined = { ...onward, source: edge.source, type: control ? "CONTROL_FLOW" : onward.type };
      const part = graph.nodes.get(edge.target);
      found.set(keyOf(joined), { edge: joined, key: keyOf(edge), via: [...edge.via, part, ...onward.via] });
    }
  }
  return [...found.values()];
}

/** Orders edges by the names of their ends, so that a row keeps its place whatever else is shown. */
function byNames(graph) {
  const text = ({ edge }) => [edge.source, edge.target].map((id) => titleOf(graph.nodes.get(id))).join("\n") + edge.type;
  return (one, other) => (text(one) < text(other) ? -1 : 1);
}

function edgeRow({ edge, key, via }, graph, acts) {
  const flags = ["inferred", "incomplete", "parsed"].filter((flag) => edge[flag]);
  const passed = via.flatMap((hop) => [" through ", linkOf(hop, acts), hop.deleted ? " (deleted)" : ""]);
  return html(
    "tr",
    { "data-edge": key },
    cellOf(graph.nodes.get(edge.source), graph, acts),
    html(
      "td",
      {},
      html("button", { type: "button", class: "to-node", click: () => acts.select(key, true) }, KINDS[edge.type] ?? inWords(edge.type)),
      html("span", { class: "dim" }, ...passed, flags.map((flag) => ` ${flag}`).join(",")),
    ),
    cellOf(graph.nodes.get(edge.target), graph, acts),
  );
}

/** Returns a link to the page of an entity on an edge; for a placeholder, only its name. */
export function linkOf(hop, acts) {
  if (hop.placeholder) return titleOf(hop);
  const id = (hop.type === "SUB_OPERATION" && hop.parent) || hop.id;
  return html("a", { href: acts.detailsAddress(id), class: hop.deleted ? "deleted" : null }, ...breakable(titleOf(hop)));
}

function cellOf(node, graph, acts) {
  const start = node.id === graph.start ? html("span", { class: "dim" }, " start") : null;
  const states = node.placeholder ? html("span", { class: "dim" }, " placeholder") : null;
  const attributes = { type: "button", class: `to-node${node.deleted ? " deleted" : ""}`, click: () => acts.select(node.id, true) };
  return html("td", { class: "name" }, html("button", attributes, ...breakable(titleOf(node))), node.deleted ? " deleted" : null, states, start);
}
