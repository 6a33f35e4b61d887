// The parts of the diagram: boxes with rows, lines between them, and hidden nodes, all without positions.

import { calledIn, cutInMiddle, databaseOf, inWords, widthOf } from "./names.js";
import { keyOf } from "./graph.js";

export const HEAD_PX = 44;
export const ROW_PX = 24;
const NARROWEST_PX = 120;
const WIDEST_TEXT_PX = 230;
/** Width of the icon to the left of a name and of the `+` to its right. */
const AROUND_NAME_PX = 66;
const AROUND_PLACE_PX = 80;
const AROUND_ROW_PX = 40;
const WITH_COLUMNS = new Set(["TABLE", "VIEW", "DATASET", "FILE", "DIRECTORY", "OPERATION"]);

/** Returns the boxes, lines and hidden nodes of a graph in a view. `fonts` are those of names, places and rows. */
export function pictureOf(graph, view, fonts) {
  const { arrows, hidden, notes } = graph.more();
  const boxes = new Map();
  for (const node of graph.nodes.values()) {
    if (!graph.holder.has(node.id)) boxes.set(node.id, boxOf(graph, view, node, arrows, fonts));
  }
  const lines = linesOf(graph, boxes);
  markParallel(lines, boxes);
  return { boxes, lines, hidden: hidden.map((cut) => hiddenOf(graph, cut)), notes };
}

function boxOf(graph, view, node, arrows, fonts) {
  const columns = graph.columnsOf(node.id);
  const told = node.type === "OPERATION" && graph.columnsAsked;
  const openable = told || graph.byColumns ? columns.length > 0 : WITH_COLUMNS.has(node.type);
  // In a diagram that starts at a column, all boxes are open at first, so toggling closes them.
  const open = graph.byColumns !== view.toggled.has(node.id);
  const listed = [...graph.standingIn(node.id), ...(open ? columns.toSorted(inTheirOrder) : [])];
  const empty = open && graph.columnsAsked && !columns.length;
  const name = calledIn(node);
  const state = node.placeholder ? "placeholder" : node.deleted ? "deleted" : "";
  const place = [name.place || inWords(node.type), state].filter(Boolean).join(" · ");
  const rows = listed.map((part) => rowOf(part, node, fonts));
  if (empty) rows.push({ id: "", node: null, text: "no column lineage", width: 190 });
  const own = cutInMiddle(name.own, WIDEST_TEXT_PX, fonts.name);
  const small = cutInMiddle(place, WIDEST_TEXT_PX, fonts.place);
  const width = Math.max(
    NARROWEST_PX,
    widthOf(own, fonts.name) + AROUND_NAME_PX,
    widthOf(small, fonts.place) + AROUND_PLACE_PX,
    ...rows.map((row) => row.width),
  );
  return {
    id: node.id,
    node,
    name: own,
    place: small,
    rows,
    openable: openable || empty,
    open,
    width: Math.ceil(width),
    height: HEAD_PX + ROW_PX * rows.length,
    database: view.databases ? databaseOf(node) : "",
    ways: [...new Set((arrows.get(node.id) ?? []).map((cut) => cut.direction))],
    cuts: arrows.get(node.id) ?? [],
  };
}

function rowOf(part, holder, fonts) {
  const text = cutInMiddle(calledIn(part, holder).own, WIDEST_TEXT_PX, fonts.row);
  return { id: part.id, node: part, text, width: widthOf(text, fonts.row) + AROUND_ROW_PX };
}

/** Orders columns as in the table. Columns with unknown positions come last, by name. */
function inTheirOrder(one, other) {
  const places = [one, other].map((node) => node.columnIndex ?? Infinity);
  if (places[0] !== places[1]) return places[0] - places[1];
  return one.name < other.name ? -1 : 1;
}

/** Returns a line for each pair of drawn ends. `members` are the edges that it represents. The edge of a column
 * ends at its row, or at the whole box if that is closed. A line between two boxes is omitted if there are lines
 * between their rows. */
function linesOf(graph, boxes) {
  const rows = new Map();
  for (const box of boxes.values()) for (const row of box.rows) if (row.id) rows.set(row.id, box.id);
  const lines = new Map();
  const finer = new Set();
  const end = (id) => ({ box: graph.boxOf(id), row: rows.has(id) ? id : "" });
  for (const edge of graph.edges.values()) {
    const [from, to] = [end(edge.source), end(edge.target)];
    if (edge.type === "INSTANCE_OF" && from.box === to.box) continue;
    const isPart = graph.holder.has(edge.source) || graph.holder.has(edge.target);
    const drawn = Boolean(from.row || to.row);
    // The line between two closed boxes represents the edges of their columns, too.
    const key = `${edge.type}:${from.row || from.box}:${to.row || to.box}`;
    const line = lines.get(key) ?? { key, type: edge.type, from, to, members: [], fine: drawn };
    line.members.push(keyOf(edge));
    line.edge = !isPart || !line.edge ? edge : line.edge;
    lines.set(key, line);
    if (isPart && drawn) finer.add(`${edge.type}:${from.box}:${to.box}`);
  }
  return [...lines.values()].filter((line) => line.fine || !finer.has(line.key));
}

/** Marks the lines between two boxes that are inputs of each other. The boxes are drawn next to each other, with
 * the lines of each direction on one side. */
function markParallel(lines, boxes) {
  const order = new Map([...boxes.keys()].map((id, number) => [id, number]));
  const ways = new Set(lines.map((line) => `${line.from.box}:${line.to.box}`));
  for (const line of lines) {
    const { box: from } = line.from;
    const { box: to } = line.to;
    line.loop = from === to;
    line.beside = !line.loop && ways.has(`${to}:${from}`) && order.has(from) && order.has(to);
    line.there = order.get(from) < order.get(to);
  }
}

function hiddenOf(graph, cut) {
  return { id: `${cut.id}.${cut.direction}`, cut, box: graph.boxOf(cut.id), way: cut.direction };
}
