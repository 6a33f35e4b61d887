// Smaller graphs made of a graph: without filtered nodes, or with one path alone.

import { keyOf } from "./graph.js";

const FLOW = /_FLOW$/;

/** Returns the graph without the boxes in `hidden` (ids). Paths through them stay: each is one edge, with the hidden nodes
 * among its `via`, marked `filtered`. */
export function contracted(graph, hidden) {
  if (!hidden.size) return graph;
  const gone = (id) => hidden.has(graph.boxOf(id));
  const edges = new Map();
  for (const edge of graph.edges.values()) {
    if (gone(edge.source)) continue;
    if (!gone(edge.target)) keep(edges, edge);
    else if (FLOW.test(edge.type)) for (const whole of through(graph, edge, gone)) keep(edges, whole);
  }
  return graph.reduced([...graph.nodes.values()].filter((node) => !gone(node.id)), [...edges.values()]);
}

function keep(edges, edge) {
  const key = keyOf(edge);
  const known = edges.get(key);
  // The shortest path represents the others.
  if (!known || edge.via.length < known.via.length) edges.set(key, edge);
}

/** Yields an edge to each shown node that is reached from an edge into a hidden node, through hidden nodes only. */
function* through(graph, first, gone) {
  const seen = new Set([first.target]);
  const pending = [first];
  for (const edge of pending) {
    const hop = hopOf(graph.nodes.get(edge.target));
    for (const next of graph.outOf.get(edge.target) ?? []) {
      if (!FLOW.test(next.type) || seen.has(next.target)) continue;
      seen.add(next.target);
      const whole = joined(edge, hop, next);
      if (gone(next.target)) pending.push(whole);
      else if (whole.source !== whole.target) yield whole;
    }
  }
}

function hopOf({ id, name, type, deleted, placeholder, label, parent }) {
  return { id, name, type, deleted, placeholder, label, parent, filtered: true };
}

function joined(edge, hop, next) {
  const control = [edge, next].some((each) => each.type === "CONTROL_FLOW");
  const flags = Object.fromEntries(["inferred", "incomplete", "parsed"].map((flag) => [flag, edge[flag] || next[flag]]));
  return {
    ...flags,
    source: edge.source,
    target: next.target,
    type: control ? "CONTROL_FLOW" : "DATA_FLOW",
    via: [...edge.via, hop, ...next.via],
  };
}

/** Returns the part of the graph that is on the path of a node (`Graph.path`), with the boxes that contain it. */
export function onlyPath(graph, id) {
  const { nodes, edges } = graph.path(id);
  const boxes = new Set([...nodes].map((each) => graph.boxOf(each)));
  if (!graph.holder.has(id)) {
    const inside = (each) => boxes.has(graph.boxOf(each));
    return reducedTo(graph, inside, (edge) => inside(edge.source) && inside(edge.target));
  }
  // On the path of a column, the edges of tables would only repeat those of the columns.
  return reducedTo(graph, (each) => nodes.has(each) || boxes.has(each), (edge) => edges.has(keyOf(edge)));
}

function reducedTo(graph, keepsNode, keepsEdge) {
  const nodes = [...graph.nodes.values()].filter((node) => keepsNode(node.id));
  return graph.reduced(nodes, [...graph.edges.values()].filter(keepsEdge));
}
