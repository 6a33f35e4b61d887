// The diagram in Graphviz's language. It contains only numbers: no names, no ids, no texts of users.

import { HEAD_PX, ROW_PX, aboveRows } from "./picture.js";
import { WINDOW_ROWS } from "./scrolled.js";

const INCH_PX = 72;
export const HIDDEN_PX = { width: 64, height: 28 };
const MANY_BOXES = 250;

/** Returns the DOT text of a diagram, and a map from the names in that text to boxes, hidden nodes and lines. */
export function dotOf(picture) {
  const named = new Map();
  const numbers = new Map();
  const text = [
    "digraph{rankdir=LR;nodesep=0.28;ranksep=0.8;node[shape=box,fixedsize=true,label=\"\"];edge[arrowsize=0.7];",
    picture.boxes.size > MANY_BOXES ? "nslimit=2;nslimit1=2;mclimit=0.3;" : "",
  ];
  // Sort by name, so that similar boxes keep their order whatever else is shown.
  for (const box of [...picture.boxes.values()].toSorted(byName)) {
    const name = `n${numbers.size}`;
    numbers.set(box.id, name);
    named.set(name, box);
    text.push(`${name}[${sizeOf(box)}];`);
  }
  text.push(...clustersOf(picture, numbers));
  // With newrank, the frames of databases do not affect the columns in which boxes are placed.
  if (picture.databases.length) text.push("newrank=true;");
  const nameOf = (line) => [line.from, line.to].map((end) => sortKey(picture.boxes.get(end.box)) + end.row).join("\n");
  picture.lines.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)).forEach((line, number) => {
    named.set(`e${number}`, line);
    if (!line.loop) text.push(edgeOf(line, number, picture, numbers));
  });
  picture.hidden.forEach((hidden, number) => {
    const name = `h${number}`;
    named.set(name, hidden);
    const box = numbers.get(hidden.box);
    text.push(`${name}[width=${inches(HIDDEN_PX.width)},height=${inches(HIDDEN_PX.height)}];`);
    const [from, to] = hidden.way === "upstream" ? [name, box] : [box, name];
    text.push(`${from}:e->${to}:w[id=x${number}];`);
    named.set(`x${number}`, { hidden });
  });
  text.push("}");
  return { dot: text.join(""), named };
}

// Groups have numbers in their names, so they are sorted by their ids.
const sortKey = ({ node }) => `${node.group ? "" : node.name}\n${node.id}`;
const byName = (one, other) => (sortKey(one) < sortKey(other) ? -1 : 1);
const inches = (pixels) => (pixels / INCH_PX).toFixed(3);

/** Returns the size of a box. Its rows are cells of a table, each with a port, so that an edge ends at its column. */
function sizeOf(box) {
  if (!box.rows.length && !box.frame) return `width=${inches(box.width)},height=${inches(box.height)}`;
  const cell = (port, height) =>
    `<TR><TD PORT="${port}" FIXEDSIZE="TRUE" WIDTH="${box.width}" HEIGHT="${height}"></TD></TR>`;
  // A long box has the same size however many of its rows fit a filter.
  const count = box.frame ? WINDOW_ROWS : box.rows.length;
  const rows = Array.from({ length: count }, (_, number) => cell(`p${number}`, ROW_PX)).join("");
  const table = `<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">${cell("h", aboveRows(box))}${rows}</TABLE>`;
  return `shape=plain,fixedsize=false,label=<${table}>`;
}

function clustersOf(picture, numbers) {
  const members = new Map();
  for (const box of picture.boxes.values()) {
    if (box.database) members.set(box.database, [...(members.get(box.database) ?? []), numbers.get(box.id)]);
  }
  picture.databases = [...members.keys()];
  return picture.databases.map((name, number) => `subgraph cluster_${number}{margin=16;${members.get(name).join(";")}}`);
}

function edgeOf(line, number, picture, numbers) {
  const [from, to] = [numbers.get(line.from.box), numbers.get(line.to.box)];
  const end = (at, name, side) => `${name}${portOf(picture.boxes.get(at.box), at.row)}:${side}`;
  if (line.beside) {
    // Both boxes get the same rank; lines between rows stay on one side of the boxes.
    const at = (place, name) => (line.from.row || line.to.row ? end(place, name, line.there ? "e" : "w") : name);
    return `{rank=same;${from};${to}}${at(line.from, from)}->${at(line.to, to)}[id=e${number},constraint=false];`;
  }
  if (line.type === "LOGICAL_PHYSICAL" && !line.from.row && !line.to.row) {
    return `${from}->${to}[id=e${number},dir=none,minlen=0];`;
  }
  return `${end(line.from, from, "e")}->${end(line.to, to, "w")}[id=e${number}];`;
}

function portOf(box, row) {
  if (!box.rows.length && !box.frame) return "";
  return row ? `:p${box.rows.findIndex((each) => each.id === row)}` : ":h";
}
