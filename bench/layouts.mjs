// Lays out graphs by Graphviz (as the diagram does), elkjs and dagre, and prints a line of JSON for each: milliseconds and
// crossings. The argument is a directory with node_modules of elkjs and @dagrejs/dagre; a second one limits the graphs.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Texts have no canvas here: each character is seven pixels wide.
globalThis.document = { createElement: () => ({ getContext: () => ({ measureText: (text) => ({ width: text.length * 7 }) }) }) };
Map.groupBy ??= (items, key) => {
  const found = new Map();
  for (const each of items) found.set(key(each), [...(found.get(key(each)) ?? []), each]);
  return found;
};

const [packages, only = ""] = process.argv.slice(2);
const scripts = new URL("../navlin/console/static/lineage/", import.meta.url);
const from = (name) => import(new URL(name, scripts));
const { Graph } = await from("graph.js");
const { aboveRows, pictureOf, ROW_PX } = await from("picture.js");
const { dotOf } = await from("dot.js");
const { placesOf } = await from("places.js");
const { Graphviz } = await from("../../third_party/wasm-graphviz/index.js");
const required = createRequire(pathToFileURL(`${packages}/x.js`));
const ELK = required("elkjs/lib/elk.bundled.js");
const dagre = required("@dagrejs/dagre");

// -- Graphs --------------------------------------------------------------------------------------------------------------

let state = 1;
const chance = () => (state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;

/** Collects tables, columns and flows as a response of the server. */
class Estate {
  constructor() {
    this.nodes = new Map();
    this.edges = new Map();
  }

  table(name, columns = 0) {
    const common = { sourceType: "HIVE", unlinked: 0, parent: null };
    this.nodes.set(name, { id: name, name: `db.${name}`, type: "TABLE", ...common });
    for (let number = 0; number < columns; number++) {
      const id = `${name}.c${number}`;
      this.nodes.set(id, { ...common, id, name: `db.${id}`, type: "FIELD", parent: name, columnIndex: number });
    }
    return name;
  }

  flow(source, target) {
    this.edges.set(`${source}>${target}`, { source, target, type: "DATA_FLOW", via: [] });
  }

  picture() {
    const nodes = [...this.nodes.values()];
    const answer = { start: nodes[0].id, nodes, edges: [...this.edges.values()], truncatedAt: [], unlinked: 0 };
    const tables = nodes.filter((node) => node.type === "TABLE").map((node) => node.id);
    const view = { toggled: new Set(tables.filter((id) => nodes.some((node) => node.parent === id))), databases: false };
    // No table is in a group, so that all ways lay out the same.
    return pictureOf(new Graph(answer, true), view, { name: "n", place: "p", row: "r" }, new Set(tables));
  }
}

function chain(count, columns) {
  const made = new Estate();
  for (let number = 0; number < count; number++) {
    made.table(`t${number}`, columns);
    if (!number) continue;
    made.flow(`t${number - 1}`, `t${number}`);
    for (let each = 0; each < columns; each++) made.flow(`t${number - 1}.c${each}`, `t${number}.c${(each * 7) % columns}`);
  }
  return made;
}

function layers(depth, width, columns, inputs = 2) {
  const made = new Estate();
  for (let layer = 0; layer < depth; layer++) {
    for (let number = 0; number < width; number++) {
      made.table(`l${layer}t${number}`, columns);
      if (!layer) continue;
      for (let each = 0; each < inputs; each++) made.flow(`l${layer - 1}t${(number + each) % width}`, `l${layer}t${number}`);
      for (let each = 0; each < columns; each++) made.flow(`l${layer - 1}t${number}.c${each}`, `l${layer}t${number}.c${each}`);
    }
  }
  return made;
}

function star(count, columns) {
  const made = new Estate();
  made.table("hub", columns);
  for (let number = 0; number < count; number++) {
    made.table(`r${number}`, Math.min(columns, 1));
    made.flow("hub", `r${number}`);
    if (columns) made.flow(`hub.c${number % columns}`, `r${number}.c0`);
  }
  return made;
}

function ring(count) {
  const made = chain(count, 2);
  made.flow(`t${count - 1}`, "t0");
  return made;
}

function diamond(width, columns) {
  const made = new Estate();
  for (const name of ["top", "end"]) made.table(name, columns);
  for (let number = 0; number < width; number++) {
    made.table(`m${number}`, columns);
    made.flow("top", `m${number}`);
    made.flow(`m${number}`, "end");
    for (let each = 0; each < columns; each++) {
      made.flow(`top.c${each}`, `m${number}.c${each}`);
      made.flow(`m${number}.c${each}`, `end.c${(each + number) % columns}`);
    }
  }
  return made;
}

/** Statements derive each table from one to three of the tables before it, column by column. */
function estate(count, columns, seed) {
  state = seed;
  const made = new Estate();
  for (let number = 0; number < count; number++) {
    made.table(`t${number}`, columns);
    if (number < 3) continue;
    const inputs = new Set(Array.from({ length: 1 + Math.floor(chance() * 3) }, () => Math.max(0, number - 1 - Math.floor(chance() * 12))));
    for (const input of inputs) {
      made.flow(`t${input}`, `t${number}`);
      for (let each = 0; each < columns; each++) {
        if (chance() < 0.6) made.flow(`t${input}.c${Math.floor(chance() * columns)}`, `t${number}.c${each}`);
      }
    }
  }
  return made;
}

const GRAPHS = {
  "chain of 40": () => chain(40, 0),
  "chain of 12, 10 columns": () => chain(12, 10),
  "chain of 100": () => chain(100, 0),
  "6 layers of 10 tables": () => layers(6, 10, 0),
  "6 layers of 10 tables, 40 columns": () => layers(6, 10, 40),
  "4 layers of 8 tables, 3 inputs": () => layers(4, 8, 6, 3),
  "hub of 12": () => star(12, 4),
  "hub of 100": () => star(100, 0),
  "hub of 300": () => star(300, 4),
  "ring of 3": () => ring(3),
  "ring of 12": () => ring(12),
  "diamond of 4": () => diamond(4, 6),
  "diamond of 12": () => diamond(12, 6),
  "diamond of 30": () => diamond(30, 0),
  "estate of 20 tables": () => estate(20, 5, 11),
  "estate of 40 tables": () => estate(40, 5, 12),
  "estate of 80 tables": () => estate(80, 4, 13),
  "estate of 150 tables": () => estate(150, 3, 14),
  "estate of 400 tables, no columns": () => estate(400, 0, 15),
  "estate of 400 tables, 2,000 columns": () => estate(400, 5, 16),
};

// -- Ways of laying out: each returns the boxes by id, and the points between the ends of each line ---------------------------

const graphviz = await Graphviz.load();

function byGraphviz(picture) {
  const { dot, named } = dotOf(picture);
  const began = performance.now();
  const laidOut = JSON.parse(graphviz.layout(dot, "json0", "dot"));
  const ms = performance.now() - began;
  const places = placesOf(laidOut, named, []);
  const boxes = new Map(places.boxes.map((place) => [place.box.id, place]));
  const ways = new Map(places.lines.map(({ line, path }) => [line, sampled(path)]));
  return { ms, boxes, ways };
}

/** Returns points on the splines of a path, without its ends. */
function sampled(path) {
  const numbers = path.match(/-?[\d.]+/g).map(Number);
  const points = [];
  for (let at = 0; at + 1 < numbers.length; at += 2) points.push([numbers[at], numbers[at + 1]]);
  const found = [];
  for (let at = 0; at + 3 < points.length; at += 3) {
    const [a, b, c, d] = points.slice(at, at + 4);
    for (const t of [0.25, 0.5, 0.75, 1]) {
      const s = 1 - t;
      found.push([0, 1].map((axis) => s ** 3 * a[axis] + 3 * s * s * t * b[axis] + 3 * s * t * t * c[axis] + t ** 3 * d[axis]));
    }
  }
  return found.slice(0, -1);
}

async function byElk(picture) {
  const elk = new ELK();
  const boxes = [...picture.boxes.values()];
  const names = new Map(boxes.map((box, number) => [box.id, `n${number}`]));
  const port = (end, side) => `${names.get(end.box)}${side}${picture.boxes.get(end.box).rows.findIndex((row) => row.id === end.row)}`;
  const children = boxes.map((box) => ({
    id: names.get(box.id),
    width: box.width,
    height: box.height,
    ports: ["i", "o"].flatMap((side) =>
      [-1, ...box.rows.keys()].map((row) => ({ id: `${names.get(box.id)}${side}${row}`, x: side === "i" ? 0 : box.width, y: heightOf(box, row), width: 0, height: 0 })),
    ),
    layoutOptions: { "elk.portConstraints": "FIXED_POS" },
  }));
  const edges = picture.lines.map((line, number) => ({ id: `e${number}`, sources: [port(line.from, "o")], targets: [port(line.to, "i")] }));
  const options = { "elk.algorithm": "layered", "elk.direction": "RIGHT", "elk.layered.spacing.nodeNodeBetweenLayers": "58" };
  const began = performance.now();
  const laidOut = await elk.layout({ id: "root", layoutOptions: options, children, edges });
  const ms = performance.now() - began;
  const placed = new Map(laidOut.children.map((each, number) => [boxes[number].id, { ...each, box: boxes[number] }]));
  const ways = new Map(picture.lines.map((line, number) => [line, (laidOut.edges[number].sections?.[0].bendPoints ?? []).map(({ x, y }) => [x, y])]));
  return { ms, boxes: placed, ways };
}

function byDagre(picture) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", ranksep: 58, nodesep: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of picture.boxes.values()) graph.setNode(box.id, { width: box.width, height: box.height });
  picture.lines.forEach((line, number) => graph.setEdge(line.from.box, line.to.box, {}, `e${number}`));
  const began = performance.now();
  dagre.layout(graph);
  const ms = performance.now() - began;
  const corner = (box, { x, y, width, height }) => ({ box, x: x - width / 2, y: y - height / 2, width, height });
  const boxes = new Map([...picture.boxes.values()].map((box) => [box.id, corner(box, graph.node(box.id))]));
  const way = (line, number) => (graph.edge(line.from.box, line.to.box, `e${number}`).points ?? []).slice(1, -1).map(({ x, y }) => [x, y]);
  return { ms, boxes, ways: new Map(picture.lines.map((line, number) => [line, way(line, number)])) };
}

// -- Crossings -----------------------------------------------------------------------------------------------------------

const heightOf = (box, row) => (row < 0 ? 22 : aboveRows(box) + ROW_PX * (row + 0.5));

/** Returns the number of pairs of lines that cross. A line goes from the right side of its source's row to the left side
 * of its target's. Lines that share an end do not count. */
function crossings(picture, { boxes, ways }) {
  const end = (at, right) => {
    const { box, x, y, width } = boxes.get(at.box);
    return [right ? x + width : x, y + heightOf(box, box.rows.findIndex((row) => row.id === at.row))];
  };
  const lines = picture.lines
    .filter((line) => !line.loop)
    .map((line) => {
      const points = [end(line.from, true), ...(ways.get(line) ?? []), end(line.to, false)];
      const xs = points.map(([x]) => x);
      return { line, points, low: Math.min(...xs), high: Math.max(...xs) };
    })
    .toSorted((one, other) => one.low - other.low);
  let count = 0;
  for (let first = 0; first < lines.length; first++) {
    for (let second = first + 1; second < lines.length && lines[second].low <= lines[first].high; second++) {
      if (!shareEnd(lines[first].line, lines[second].line) && cross(lines[first].points, lines[second].points)) count += 1;
    }
  }
  return count;
}

const key = ({ box, row }) => row || box;
const shareEnd = (one, other) => key(one.from) === key(other.from) || key(one.to) === key(other.to) || key(one.from) === key(other.to) || key(one.to) === key(other.from);

function cross(one, other) {
  for (let a = 0; a + 1 < one.length; a++) {
    for (let b = 0; b + 1 < other.length; b++) if (meet(one[a], one[a + 1], other[b], other[b + 1])) return true;
  }
  return false;
}

function meet(a, b, c, d) {
  const side = (p, q, r) => Math.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

// -- The run -------------------------------------------------------------------------------------------------------------

const WAYS = { graphviz: byGraphviz, elkjs: byElk, dagre: byDagre };
// The first layout of each way compiles its code.
for (const way of Object.values(WAYS)) await way(chain(5, 2).picture());
for (const [name, make] of Object.entries(GRAPHS)) {
  if (!name.includes(only)) continue;
  for (const [way, layOut] of Object.entries(WAYS)) {
    const picture = make().picture();
    try {
      const laidOut = await layOut(picture);
      console.log(JSON.stringify({ graph: name, way, boxes: picture.boxes.size, lines: picture.lines.length, ms: laidOut.ms, crossings: crossings(picture, laidOut) }));
    } catch (error) {
      console.log(JSON.stringify({ graph: name, way, boxes: picture.boxes.size, lines: picture.lines.length, failed: String(error.message).slice(0, 200) }));
    }
  }
}
