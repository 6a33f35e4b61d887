// The parts of the diagram: boxes with rows, lines between them, groups and hidden nodes, all without positions.

import { calledIn, cutInMiddle, databaseOf, inWords, widthOf } from "./names.js";
import { keyOf } from "./graph.js";
import { groupsOf, nodeOf } from "./groups.js";
import { Scrolled, WINDOW_ROWS } from "./scrolled.js";

export const HEAD_PX = 44;
export const ROW_PX = 24;
const NARROWEST_PX = 120;
const WIDEST_TEXT_PX = 230;
/** Width of the icon to the left of a name and of the `+` to its right. */
const AROUND_NAME_PX = 66;
const AROUND_PLACE_PX = 80;
const AROUND_ROW_PX = 40;
const SCROLL_BAR_PX = 14;
const WITH_COLUMNS = new Set(["TABLE", "VIEW", "DATASET", "FILE", "DIRECTORY", "OPERATION"]);

/** Whether the columns of a box are shown. In a diagram that starts at a column, and in one with all columns, boxes are
 * open at first, so toggling closes them. */
export const isOpen = (graph, view, id) => Boolean(graph.byColumns || view.all_columns) !== view.toggled.has(id);

/** Returns the boxes, lines, groups and hidden nodes of a graph in a view. `fonts` are those of names, places and rows,
 * `apart` the boxes that are in no group, and `scrolled` has the visible rows of long boxes. */
export function pictureOf(graph, view, fonts, apart = new Set(), scrolled = new Scrolled()) {
  const { arrows, hidden, notes } = graph.more();
  const { groups, groupOf } = groupsOf(graph, apart);
  const boxes = new Map();
  for (const node of graph.nodes.values()) {
    if (graph.holder.has(node.id) || groupOf.has(node.id)) continue;
    boxes.set(node.id, boxOf(graph, view, node, arrows, fonts, scrolled));
  }
  for (const group of groups.values()) if (!groupOf.has(group.id)) boxes.set(group.id, boxOfGroup(group, fonts));
  const boxFor = (id) => groupOf.get(graph.boxOf(id)) ?? graph.boxOf(id);
  const lines = linesOf(graph, boxes, boxFor);
  markParallel(lines, boxes);
  const ends = hidden.filter((cut) => boxes.has(graph.boxOf(cut.id)));
  return { boxes, lines, groups, boxFor, hidden: ends.map((cut) => hiddenOf(graph, cut)), notes };
}

function boxOfGroup(group, fonts) {
  const place = "a group: press to list";
  const width = Math.max(widthOf(group.name, fonts.name) + AROUND_NAME_PX, widthOf(place, fonts.place) + AROUND_PLACE_PX);
  return {
    id: group.id,
    node: nodeOf(group),
    group,
    name: group.name,
    place,
    rows: [],
    openable: false,
    open: false,
    width: Math.ceil(width),
    height: HEAD_PX,
    database: "",
    ways: [],
    cuts: [],
  };
}

function boxOf(graph, view, node, arrows, fonts, scrolled) {
  const columns = graph.columnsOf(node.id);
  const told = node.type === "OPERATION" && graph.columnsAsked;
  const openable = told || graph.byColumns ? columns.length > 0 : WITH_COLUMNS.has(node.type);
  const open = isOpen(graph, view, node.id);
  const empty = open && graph.columnsAsked && !columns.length && !told && WITH_COLUMNS.has(node.type);
  const name = calledIn(node);
  const state = node.placeholder ? "placeholder" : node.deleted ? "deleted" : "";
  const place = [name.place || inWords(node.type), state].filter(Boolean).join(" · ");
  const every = [...graph.standingIn(node.id), ...(open ? columns.toSorted(inTheirOrder) : [])];
  const frame = every.length > WINDOW_ROWS ? scrolled.frameOf(node.id, every) : null;
  const rows = (frame?.rows ?? every).map((part) => rowOf(part, node, fonts));
  if (empty) rows.push({ id: "", node: null, text: "no column lineage", width: 190 });
  const own = cutInMiddle(name.own, WIDEST_TEXT_PX, fonts.name);
  const small = cutInMiddle(place, WIDEST_TEXT_PX, fonts.place);
  const width = Math.max(
    NARROWEST_PX,
    widthOf(own, fonts.name) + AROUND_NAME_PX,
    widthOf(small, fonts.place) + AROUND_PLACE_PX,
    // While rows scroll, the box keeps its width.
    frame ? WIDEST_TEXT_PX + AROUND_ROW_PX + SCROLL_BAR_PX : 0,
    ...rows.map((row) => row.width),
  );
  const height = frame ? HEAD_PX + ROW_PX * (1 + WINDOW_ROWS) : HEAD_PX + ROW_PX * rows.length;
  return {
    id: node.id,
    node,
    name: own,
    place: small,
    rows,
    frame,
    openable: openable || empty,
    open,
    width: Math.ceil(width),
    height,
    database: view.databases ? databaseOf(node) : "",
    ways: [...new Set((arrows.get(node.id) ?? []).map((cut) => cut.direction))],
    cuts: arrows.get(node.id) ?? [],
  };
}

/** Returns the height of a box above its first row. A long box has a line for its filter. */
export const aboveRows = (box) => HEAD_PX + (box.frame ? ROW_PX : 0);

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
 * ends at its row, or at the whole box if the row is not visible. A line between two boxes is omitted if there are lines
 * between their rows, unless it represents rows that are scrolled away. */
function linesOf(graph, boxes, boxFor) {
  const rows = new Map();
  for (const box of boxes.values()) for (const row of box.rows) if (row.id) rows.set(row.id, box.id);
  const lines = new Map();
  const finer = new Set();
  const end = (id) => ({ box: boxFor(id), row: rows.has(id) ? id : "" });
  const away = (id, { box, row }) => !row && graph.holder.has(id) && Boolean(boxes.get(box).frame);
  for (const edge of graph.edges.values()) {
    const [from, to] = [end(edge.source), end(edge.target)];
    if (from.box === to.box && (edge.type === "INSTANCE_OF" || boxes.get(from.box).group)) continue;
    const isPart = graph.holder.has(edge.source) || graph.holder.has(edge.target);
    const drawn = Boolean(from.row || to.row);
    // The line between two closed boxes represents the edges of their columns, too.
    const key = `${edge.type}:${from.row || from.box}:${to.row || to.box}`;
    const line = lines.get(key) ?? { key, type: edge.type, from, to, members: [], fine: drawn, edges: 0 };
    line.members.push(keyOf(edge));
    if (!isPart) line.edges += 1;
    line.fine ||= isPart && (away(edge.source, from) || away(edge.target, to));
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
