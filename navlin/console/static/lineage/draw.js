// The diagram as SVG. Each node and edge has an id, classes for its kind, and data attributes that identify the node
// or the relation.

import { deletedOn, filteredOn } from "./graph.js";
import { groupAloud } from "./groups.js";
import { calledIn, counted, engineIn, inWords, titleOf } from "./names.js";
import { sourceIcon, typeIcon } from "./icons.js";
import { HEAD_PX, ROW_PX, aboveRows } from "./picture.js";
import { headOf } from "./places.js";
import { controlsOf } from "./scrolled.js";
import { svg } from "./svg.js";

/** Time spent drawing before the page may respond to other events. */
const SLICE_MS = 30;
const BESIDE_PX = 6;
/** Radius of a mark on a line. */
const MARK_PX = 9;

/** Draws everything into a new group, in slices. `arrive` inserts the group, still invisible, where it will be, so
 * that the browser computes the layout slice by slice. `current()` returns whether the result is still wanted.
 * Returns null if it is not. */
export async function draw(places, graph, current, arrive = () => {}) {
  const frames = svg("g", { class: "databases" });
  const lines = svg("g", { class: "edges" });
  const boxes = svg("g", { class: "nodes" });
  const scene = svg("g", { class: "scene arriving" }, frames, lines, boxes);
  arrive(scene);
  const work = [
    ...places.frames.map((place) => () => frames.append(frameOf(place))),
    ...places.lines.map((place) => () => lines.append(lineOf(place, graph))),
    ...places.boxes.map((place) => () => boxes.append(boxOf(place, graph))),
    ...places.hidden.map((place) => () => boxes.append(hiddenOf(place, graph))),
  ];
  let until = performance.now() + SLICE_MS;
  for (const each of work) {
    each();
    if (performance.now() > until) {
      await nextFrame();
      if (!current()) {
        scene.remove();
        return null;
      }
      until = performance.now() + SLICE_MS;
    }
  }
  return scene;
}

/** Resolves after the browser has laid out the current slice, or after 100 ms, because an invisible page has no
 * frames. */
function nextFrame() {
  return new Promise((resolve) => {
    setTimeout(resolve, 100);
    requestAnimationFrame(() => setTimeout(resolve));
  });
}

/** Draws the rows of a long box again, after they were scrolled. */
export function redrawBox(element, place, graph) {
  element.replaceWith(boxOf(place, graph));
}

const round = (number) => Math.round(number * 10) / 10;

function frameOf({ name, x, y, width, height }) {
  return svg(
    "g",
    { class: "database", "data-name": name },
    svg("rect", { x: round(x), y: round(y), width: round(width), height: round(height), rx: 8 }),
    svg("text", { class: "database-name", x: round(x + 8), y: round(y + 12) }, name),
  );
}

const ends = (edge) => `${edge.type}-${edge.source}-${edge.target}`;

function lineOf({ line, path, tip, from, middle }, graph) {
  if (line.hidden) {
    return svg("g", { class: "edge to-hidden", "data-hidden": line.hidden.id }, svg("path", { class: "way", d: path }));
  }
  const kind = line.type.toLowerCase().replaceAll("_", "-");
  const flags = ["inferred", "incomplete", "parsed"].filter((flag) => line.edge[flag]).join(" ");
  const attributes = {
    id: `edge-${ends({ type: line.type, source: line.from.row || line.from.box, target: line.to.row || line.to.box })}`,
    class: `edge ${kind} ${line.beside ? "beside" : ""} ${line.loop ? "loop" : ""} ${flags}`.replace(/\s+/g, " ").trim(),
    "data-edge": line.key,
    "data-type": line.type,
    "data-source": line.from.row || line.from.box,
    "data-target": line.to.row || line.to.box,
    // Opposite directions are two lines, even if Graphviz has one path for both. This applies to lines between boxes,
    // not between rows.
    transform: line.beside && !line.from.row && !line.to.row ? `translate(${line.there ? BESIDE_PX : -BESIDE_PX} 0)` : null,
  };
  return svg(
    "g",
    attributes,
    svg("title", {}, inOneLine(line, graph)),
    svg("path", { class: "touched", d: path }),
    svg("path", { class: "way", d: path }),
    tip ? svg("path", { class: "tip", d: headOf({ tip, from }) }) : null,
    ...(middle ? marksOf(line.edge, middle) : []),
  );
}

/** Returns the marks of an edge, beside each other if it has two. */
function marksOf(edge, [x, y]) {
  const [deleted, filtered] = [deletedOn(edge).length, filteredOn(edge).length];
  const apart = deleted && filtered ? MARK_PX + 1 : 0;
  return [markOf("deleted-between", deleted, [x - apart, y]), markOf("filtered-between", filtered, [x + apart, y])];
}

/** Returns a mark with the number of deleted or filtered objects on a line; null if there are none. */
export function markOf(kind, count, [x, y]) {
  if (!count) return null;
  return svg(
    "g",
    { class: kind, "data-count": count, transform: `translate(${round(x)} ${round(y)})` },
    svg("circle", { r: MARK_PX }),
    svg("text", { class: "count", y: 4 }, String(count)),
    kind === "deleted-between" ? svg("path", { class: "strike", d: `M${-MARK_PX} 0H${MARK_PX}` }) : null,
  );
}

/** Returns an edge in words: its ends, and the deleted objects and placeholders that it passes through. */
export function inOneLine(line, graph) {
  if (line.edges > 1) return `${counted(line.edges, "edge")}, ${inWords(line.type)}`;
  const name = (id) => titleOf(graph.nodes.get(id) ?? { id, name: id });
  const filtered = filteredOn(line.edge).map((hop) => `filtered ${titleOf(hop)}`);
  const passed = line.edge.via.filter((hop) => hop.deleted || hop.placeholder);
  const through = passed.map((hop) => `${hop.deleted ? "deleted" : "placeholder"} ${titleOf(hop)}`);
  const words = `${name(line.edge.source)} → ${name(line.edge.target)}, ${inWords(line.type)}`;
  const every = [...through, ...filtered];
  return every.length ? `${words}, through ${every.join(", ")}` : words;
}

function boxOf({ box, x, y }, graph) {
  const { node } = box;
  const is = {
    deleted: node.deleted,
    placeholder: node.placeholder,
    granted: node.granted,
    start: node.id === graph.start,
    open: box.rows.length > 0,
    group: node.group,
    long: Boolean(box.frame),
  };
  const kinds = Object.keys(is).filter((kind) => is[kind]);
  const type = node.type.toLowerCase().replaceAll("_", "-");
  const attributes = {
    id: `node-${node.id}`,
    class: ["node", `type-${type}`, `source-${node.sourceType.toLowerCase() || "none"}`, ...kinds].join(" "),
    "data-box": node.id,
    "data-width": box.width,
    "data-height": box.height,
    transform: `translate(${round(x)} ${round(y)})`,
  };
  return svg(
    "g",
    attributes,
    node.group ? svg("path", { class: "behind", d: outlineOf(node.type, box.width, box.height), transform: "translate(5 5)" }) : null,
    svg("path", { class: "frame", d: outlineOf(node.type, box.width, box.height) }),
    ...headOfBox(box, node, graph),
    ...(box.frame ? controlsOf(box, HEAD_PX, ROW_PX) : []),
    ...box.rows.flatMap((row, number) => rowOf(row, number, box, graph)),
    box.openable ? toggleOf(box) : null,
    ...box.ways.map((way) => arrowOf(box, way)),
  );
}

/** Returns the outline of a box: a rectangle for data, pointed ends for operations and executions. */
function outlineOf(type, width, height) {
  if (type === "OPERATION" || type === "OPERATION_EXECUTION") {
    return `M8 0H${width - 8}L${width} ${HEAD_PX / 2}V${height - HEAD_PX / 2}L${width - 8} ${height}H8L0 ${height - HEAD_PX / 2}V${HEAD_PX / 2}Z`;
  }
  return `M4 0H${width - 4}a4 4 0 0 1 4 4V${height - 4}a4 4 0 0 1 -4 4H4a4 4 0 0 1 -4 -4V4a4 4 0 0 1 4 -4Z`;
}

/** Returns the text that screen readers read for a node. */
export function readAloud(node, graph) {
  const flows = (edges) => (edges ?? []).filter((edge) => edge.type.endsWith("_FLOW")).length;
  const states = [
    node.deleted && "deleted",
    node.placeholder && "placeholder",
    node.id === graph.start && "the start",
    node.unlinked && `${node.unlinked} unresolved`,
    node.idle && "no lineage recorded",
  ].filter(Boolean);
  const counts = `${flows(graph.into.get(node.id))} upstream, ${flows(graph.outOf.get(node.id))} downstream`;
  const engine = node.sourceType ? [engineIn(node.sourceType)] : [];
  return [`${inWords(node.type)} ${titleOf(node)}`, ...engine, ...states, counts].join(", ");
}

/** Returns the button of a box, and the texts displayed on it. These are hidden from screen readers, because the
 * button has its own label. */
function headOfBox(box, node, graph) {
  const words = box.group ? groupAloud(box.group, graph) : readAloud(node, graph);
  const attributes = { class: "head", role: "button", tabindex: -1, "data-id": node.id, "aria-label": words };
  return [
    svg(
      "g",
      attributes,
      svg("rect", { class: "ground", width: box.width, height: HEAD_PX }),
      typeIcon(node, 11, 13, 18),
      node.group ? null : sourceIcon(node.sourceType, 38, 26, 10),
    ),
    svg(
      "g",
      { class: "label", "aria-hidden": "true" },
      svg("text", { class: "name", x: 38, y: 19, direction: "ltr" }, box.name),
      svg("text", { class: "place", x: node.group ? 38 : 52, y: 35, direction: "ltr" }, box.place),
    ),
  ];
}

function rowOf(row, number, box, graph) {
  const y = aboveRows(box) + ROW_PX * number;
  if (!row.node) {
    return [svg("text", { class: "no-columns", x: 12, y: y + 16 }, row.text)];
  }
  const type = row.node.type.toLowerCase().replaceAll("_", "-");
  const states = ["deleted", "placeholder", "idle"].filter((state) => row.node[state]);
  const attributes = {
    id: `node-${row.id}`,
    class: ["row", type === "field" ? "column" : type, ...states, row.id === graph.start ? "start" : ""].join(" ").trim(),
    role: "button",
    tabindex: -1,
    "data-id": row.id,
    "data-parent": box.id,
    "aria-label": readAloud(row.node, graph),
  };
  return [
    svg(
      "g",
      attributes,
      // A transform of its own for each row would make every frame slower while the diagram is panned.
      svg("rect", { class: "ground", x: 1, y, width: box.width - 2, height: ROW_PX - 1 }),
      svg("path", { class: "rule", d: `M1 ${y}H${box.width - 1}` }),
      typeIcon(row.node, 12, y + 6, 12),
    ),
    svg("text", { class: "row-name", x: 30, y: y + 16, direction: "ltr", "aria-hidden": "true" }, row.text),
  ];
}

function toggleOf(box) {
  const words = `${box.open ? "close" : "open"} the columns of ${calledIn(box.node).own}`;
  return svg(
    "g",
    {
      class: "toggle",
      role: "button",
      tabindex: -1,
      "data-toggle": box.id,
      "aria-expanded": String(box.open),
      "aria-label": words,
      transform: `translate(${box.width - 24} 14)`,
    },
    svg("title", {}, words),
    svg("rect", { class: "ground", x: -3, y: -3, width: 22, height: 22, rx: 3 }),
    svg("path", { class: "sign", d: box.open ? "M3 8h10" : "M3 8h10M8 3v10" }),
  );
}

function arrowOf(box, way) {
  const left = way === "upstream";
  const words = `expand ${calledIn(box.node).own} ${way}`;
  return svg(
    "g",
    {
      class: `hop ${way}`,
      role: "button",
      tabindex: -1,
      "data-hop": box.id,
      "data-way": way,
      "aria-label": words,
      transform: `translate(${left ? 0 : box.width} ${Math.min(box.height, HEAD_PX) - 4})`,
    },
    svg("title", {}, words),
    svg("circle", { class: "ground", r: 10 }),
    svg("path", { class: "sign", d: left ? "M2 -4L-3 0L2 4" : "M-2 -4L3 0L-2 4" }),
  );
}

function hiddenOf({ hidden, x, y, width, height }, graph) {
  const name = titleOf(graph.nodes.get(hidden.cut.id));
  const words = `more ${hidden.way} of ${name}: open in a new diagram`;
  return svg(
    "g",
    {
      id: `hidden-${hidden.id}`,
      class: "hidden-node",
      role: "button",
      tabindex: -1,
      "data-hidden": hidden.id,
      "data-start": hidden.cut.id,
      "data-way": hidden.way,
      "data-reason": hidden.cut.reason,
      "aria-label": words,
      transform: `translate(${round(x)} ${round(y)})`,
    },
    svg("title", {}, words),
    svg("rect", { class: "ground", width, height, rx: height / 2 }),
    svg("path", { class: "sign", d: `M${width / 2 - 12} ${height / 2}h.1M${width / 2} ${height / 2}h.1M${width / 2 + 12} ${height / 2}h.1` }),
  );
}
