// The lineage diagram: from the address to a request, its response, a layout and a drawing, and back to the address.

import { Problem, addressOf, ask, askColumns, askTable } from "./ask.js";
import { showEdge, showNode, showNothing } from "./details.js";
import { dotOf } from "./dot.js";
import { draw, redrawBox } from "./draw.js";
import { FilterForm, hiddenBy } from "./filters.js";
import { Find } from "./find.js";
import { focusedThing, restoreFocus } from "./focus.js";
import { Graph, joined, keyOf, mayTurn } from "./graph.js";
import { showGroup } from "./group_list.js";
import { elementOf, listenToKeys, stopAt } from "./keys.js";
import { Cancelled, layOut, warmUp } from "./layout.js";
import { legend } from "./legend.js";
import { lightEdge, lightPath, unlight } from "./light.js";
import { fillList } from "./list.js";
import { Minimap } from "./minimap.js";
import { calledIn, oneLine, titleOf } from "./names.js";
import { showPath } from "./path.js";
import { isOpen, pictureOf } from "./picture.js";
import { placesOf } from "./places.js";
import { contracted, onlyPath } from "./reduce.js";
import { Scrolled, WINDOW_ROWS } from "./scrolled.js";
import { showProblem, showState, showSummary } from "./state.js";
import { readSwitches, showSwitches } from "./switches.js";
import { listenToTools } from "./tools.js";
import { questionOf, questionsAlso, readView, searchOf, startingAt, tableOf } from "./view.js";
import { Zoom } from "./zoom.js";

const page = document.getElementById("diagram");
const picture = document.getElementById("picture");
const panel = document.getElementById("selected");
const pathPanel = document.getElementById("path");
const table = document.getElementById("edges");
const list = document.getElementById("list");
const tip = document.getElementById("whole-name");
const form = document.getElementById("switches");
const base = document.body.dataset.base ?? "";
const tabs = document.getElementById("tabs");
const zoom = new Zoom(picture, document.querySelector(".tools"));
const minimap = new Minimap(document.getElementById("minimap"), zoom);
const scrolled = new Scrolled();

/** Types whose columns are requested when all are shown. */
const COLUMNED = new Set(["TABLE", "VIEW", "DATASET", "FILE", "DIRECTORY"]);
/** Maximum number of boxes on a pinned path that are taken out of groups. */
const MOST_PINNED = 40;
const AFTER_SCROLL_MS = 150;

let view = readView(location.search);
/** The whole response; the graph without filtered nodes; the graph that is drawn, which may be one path of it. */
let graph = null;
let unfiltered = null;
let drawn = null;
let shown = null;
let hidden = new Set();
let places = null;
let lines = new Map();
let asking = null;
let round = 0;
/** Id of a node to show in the middle after the next drawing. */
let centring = "";
let scrolling = 0;
/** Number of arrangements so far. A later one, or scrolling, makes an earlier one useless. */
let turns = 0;

// -- From a view to a picture ------------------------------------------------------------------------------------------

/** Shows the view. `anchor` is the id of a node that keeps its position on the screen. */
async function show(anchor = "") {
  round += 1;
  const mine = round;
  const current = () => mine === round;
  asking?.abort();
  asking = new AbortController();
  showSwitches(form, view);
  tabs.hidden = !view.entity;
  if (!view.entity) {
    showState(page, "empty");
    return;
  }
  try {
    showState(page, "asking");
    const questions = [questionOf(view), ...questionsAlso(view)];
    const asked = questions.map((each) => ask("/lineage", each, asking.signal));
    const rows = view.filters.length ? askTable(tableOf(view)) : [];
    const opened = view.all_columns ? [] : askColumns([...view.toggled], asking.signal);
    const also = Promise.all([rows, opened]);
    // If the lineage fails, its error is shown, not this one.
    also.catch(() => {});
    const [answer, ...others] = await timed("server", () => Promise.all(asked));
    if (!current()) return;
    const whole = joined(answer, others);
    const every = view.all_columns ? askColumns(columned(whole), asking.signal) : null;
    const [[facts, some], all] = await Promise.all([also, every]);
    const columns = all ?? some;
    if (!current()) return;
    const begins = answer.nodes.find((node) => node.id === answer.start);
    const kept = begins?.type === "FIELD" ? [] : columns.filter((each) => view.deleted || !each.deleted);
    graph = new Graph(whole, Boolean(questionOf(view).columns), kept);
    hidden = hiddenBy(view.filters, graph, facts);
    unfiltered = contracted(graph, hidden);
    nameStart();
    filterForm.show(view.filters, hidden.size);
    await arrange(current, anchor);
  } catch (error) {
    if (!current() || error.name === "AbortError" || error instanceof Cancelled) return;
    const problem = error instanceof Problem ? error : new Problem(-1, error.message);
    showProblem(page, problem, { again: () => show(anchor), startAt: (id) => go(startingAt(view, id)) });
  }
}

/** Returns the ids of the tables in a response whose columns are to be shown. */
function columned({ nodes }) {
  const open = (node) => COLUMNED.has(node.type) && !node.placeholder && !view.toggled.has(node.id);
  return nodes.filter(open).map((node) => node.id);
}

/** Returns the id of the pinned node if the diagram has it, else "". */
const pinned = () => (view.pinned && unfiltered?.nodes.has(view.pinned) ? view.pinned : "");

/** Returns the parts of the picture, before their layout. */
function arranged() {
  const path = pinned() ? unfiltered.path(pinned()).nodes : new Set();
  drawn = view.only && pinned() ? onlyPath(unfiltered, pinned()) : unfiltered;
  scrolled.beginAt(view.selected, path);
  const onPath = new Set([...path].map((id) => drawn.boxOf(id)));
  const start = drawn.starts.length ? [] : [drawn.boxOf(drawn.start)];
  const apart = new Set([...start, ...view.apart, ...(onPath.size <= MOST_PINNED ? onPath : [])]);
  return pictureOf(drawn, view, fonts(), apart, scrolled);
}

async function arrange(wanted, anchor) {
  turns += 1;
  const turn = turns;
  const current = () => wanted() && turn === turns;
  showState(page, "arranging");
  const next = arranged();
  const { dot, named } = dotOf(next);
  const laidOut = await timed("layout", () => layOut(dot));
  if (!current()) return;
  showState(page, "drawing");
  const placed = placesOf(laidOut, named, next.databases);
  const scene = await timed("drawing", () => draw(placed, drawn, current, (arriving) => picture.prepend(arriving)));
  if (!scene || !current()) return;
  const before = placeOf(anchor);
  const screen = before && zoom.onScreen(before);
  const known = new Set(shown?.boxes.keys());
  const focused = focusedThing(picture);
  [shown, places] = [next, placed];
  lines = new Map(shown.lines.map((line) => [line.key, line]));
  zoom.show(scene, places);
  unlight(picture);
  minimap.show(places);
  if (screen && placeOf(anchor)) {
    zoom.keep(placeOf(anchor), screen);
    const part = withNew(anchor, known);
    if (part) zoom.include(part);
  } else zoom.open(elementOf(picture, shown.boxFor(graph.start)));
  stopAt(picture, elementOf(picture, graph.start) ?? picture.querySelector(".head"), false);
  restoreFocus(picture, focused, shown.boxFor, graph.start);
  showSummary(page, graph, shown, acts);
  if (list.open) fillList(table, drawn, acts);
  showSelected();
  showPinned();
  if (centring) centreOn(centring);
  centring = "";
  showState(page, "ready");
  performance.measure("navlin:picture", { start: 0 });
}

/** Returns the part of the scene that has the box of a node and the boxes beside it that were not drawn before, if there are
 * any. `known` has the ids of the boxes that were drawn before. */
function withNew(id, known) {
  const box = shown.boxFor(id);
  const beside = new Set([box]);
  for (const { from, to } of shown.lines) {
    if (from.box === box && !known.has(to.box)) beside.add(to.box);
    if (to.box === box && !known.has(from.box)) beside.add(from.box);
  }
  if (beside.size === 1) return null;
  const part = places.boxes.filter((place) => beside.has(place.box.id));
  const [x, y] = ["x", "y"].map((side) => Math.min(...part.map((place) => place[side])));
  const width = Math.max(...part.map((place) => place.x + place.width)) - x;
  const height = Math.max(...part.map((place) => place.y + place.height)) - y;
  return { x, y, width, height };
}

function centreOn(id) {
  const element = elementOf(picture, id) ?? elementOf(picture, shown.boxFor(id));
  if (!element) return;
  zoom.centreOn(element);
  stopAt(picture, element, false);
}

/** Scrolls or filters the rows of a long box, and then arranges the lines. */
function scrolledTo(id) {
  turns += 1;
  const place = placeOf(id);
  place.box = arranged().boxes.get(id);
  const focused = focusedThing(picture);
  redrawBox(picture.querySelector(`[data-box="${CSS.escape(id)}"]`), place, drawn);
  restoreFocus(picture, focused, shown.boxFor, graph.start);
  showSelected();
  showPinned();
  // Until they are arranged again, the lines end where their rows were.
  showState(page, "arranging");
  clearTimeout(scrolling);
  scrolling = setTimeout(() => {
    const mine = round;
    const failed = (error) => showProblem(page, new Problem(-1, error.message), { again: () => show(id) });
    arrange(() => mine === round, id).catch((error) => error instanceof Cancelled || failed(error));
  }, AFTER_SCROLL_MS);
}

/** Puts the start's name into the title, and into the form in place of its id if the name identifies it, too. */
function nameStart() {
  const node = graph.nodes.get(graph.start);
  // A placeholder has no other page.
  tabs.hidden = Boolean(node.placeholder);
  for (const tab of tabs.querySelectorAll("a")) tab.search = new URLSearchParams({ entity: node.id });
  const name = graph.starts.length ? view.entity : calledIn(node).own;
  document.title = `Lineage of ${oneLine(name).slice(0, 100)} · navlin`;
  if (view.entity === node.id && /^(TABLE|VIEW|FIELD|FILE|DIRECTORY)$/.test(node.type) && oneLine(node.name) === node.name) {
    form.elements.entity.value = node.name;
    form.elements.entity.dataset.means = node.name;
  }
}

/** Does some work, and records its duration for the browser's profiler. */
async function timed(name, work) {
  const start = performance.now();
  const result = await work();
  performance.measure(`navlin:${name}`, { start, end: performance.now() });
  return result;
}

function fonts() {
  const family = getComputedStyle(picture).fontFamily;
  return { name: `600 13px ${family}`, place: `11px ${family}`, row: `12px ${family}` };
}

function placeOf(id) {
  return id && shown && places?.boxes.find((place) => place.box.id === shown.boxFor(id));
}

// -- Actions -----------------------------------------------------------------------------------------------------------

/** Shows another view, and puts it into the address. */
function go(next, anchor = "") {
  view = next;
  history.pushState(null, "", searchOf(view));
  show(anchor);
}

/** Shows another view that needs no request, and puts it into the address. */
function put(next) {
  if (searchOf(next) !== searchOf(view)) history.pushState(null, "", searchOf(next));
  view = next;
}

const acts = {
  startAt: (id) => go(startingAt(view, id)),
  toggle: (id) => go({ ...view, toggled: flipped(view.toggled, id) }, id),
  /** Shows one more hop from a box: where the response says that there is more, or else opposite to the direction
   * that led there. */
  hop(box, way) {
    if (!box || !graph?.nodes.has(box)) return;
    const cuts = (graph.more().arrows.get(box) ?? []).filter((cut) => cut.direction === way);
    if (!cuts.length && !mayTurn(graph, graph.nodes.get(box))) return;
    const goOn = cuts.filter((cut) => !cut.apart).map((cut) => cut.id);
    const also = cuts.length ? cuts.filter((cut) => cut.apart).map((cut) => cut.id) : [box];
    const more = also.map((id) => `${way}:${id}`);
    go({ ...view, goOn: new Set([...view.goOn, ...goOn]), also: new Set([...view.also, ...more]) }, box);
  },
  hidden: (id, direction) => go(startingAt(view, id, { direction })),
  // A diagram with another depth or direction is fitted to the screen again.
  change: (changes) => go({ ...view, ...changes }, changes.goOn ? "" : graph?.start),
  detailsAddress: (id) => `${base}/details?${new URLSearchParams({ entity: id })}`,
  searchAddress: (query) => `${base}/search?${new URLSearchParams({ query })}`,
  select(what, focus = false) {
    const node = graph?.nodes.get(what);
    if (node && !elementOf(picture, what) && !elementOf(picture, graph.boxOf(what))) {
      acts.reveal(node);
      return;
    }
    put({ ...view, selected: what });
    showSelected();
    const element = what && (elementOf(picture, what) ?? elementOf(picture, shown.boxFor(what)) ?? edgeElement(what));
    if (element) zoom.reveal(element);
    if (element && focus && element.matches("[role=button]")) stopAt(picture, element, true);
  },
  /** Selects a node and shows it in the middle: takes it out of its group, opens its table, and scrolls to it. */
  reveal(node) {
    const box = graph.nodes.has(node.id) ? graph.boxOf(node.id) : node.parent;
    const next = { ...view, selected: node.id };
    if (shown.boxFor(box) !== box) next.apart = new Set([...view.apart, box]);
    if (box !== node.id && !isOpen(graph, view, box)) next.toggled = flipped(view.toggled, box);
    if (!drawn.nodes.has(box)) next.only = false;
    scrolled.forget(box);
    if (elementOf(picture, node.id)) {
      put(next);
      showSelected();
      centreOn(node.id);
    } else {
      centring = node.id;
      go(next);
    }
  },
  /** Keeps the path of a node lit; "" ends this. */
  pin(id) {
    const again = view.only;
    put({ ...view, pinned: id, only: id ? view.only : false, selected: id || view.selected });
    if (again) show(id);
    else {
      showSelected();
      showPinned();
    }
  },
  onlyPath: (only) => go({ ...view, only }),
  takeOut: (ids) => go({ ...view, apart: new Set([...view.apart, ...ids]) }),
  filters: () => view.filters,
  filter: (filters) => go({ ...view, filters }),
  clear() {
    acts.select("");
    if (view.pinned) acts.pin("");
  },
  /** Scrolls the rows of a long box. Returns whether they have changed. */
  scrollRows(id, by) {
    const place = placeOf(id);
    if (!place?.box.frame || !scrolled.scroll(place.box, by)) return false;
    scrolledTo(id);
    return true;
  },
  press(element) {
    if (!element) return;
    const { toggle, hop, hidden: more, start, way, id, page: sign, of } = element.dataset;
    if (toggle) acts.toggle(toggle);
    else if (hop) acts.hop(hop, way);
    else if (more) acts.hidden(start, way);
    else if (sign) acts.scrollRows(of, Number(sign) * (WINDOW_ROWS - 1));
    else if (id && element.matches(".row.column")) acts.pin(id === view.pinned ? "" : id);
    else if (id) acts.select(id);
    else if (element.dataset.edge) acts.select(element.dataset.edge);
  },
};

function flipped(set, id) {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

function edgeElement(key) {
  const line = lines.get(key) ?? [...lines.values()].find((each) => each.members.includes(key));
  return line && picture.querySelector(`[data-edge="${CSS.escape(line.key)}"]`);
}

function showSelected() {
  for (const each of picture.querySelectorAll(".selected")) each.classList.remove("selected");
  const what = view.selected;
  const node = graph?.nodes.get(what);
  const group = shown?.groups.get(what);
  const element = node || group ? elementOf(picture, what) : what ? edgeElement(what) : null;
  (element?.classList.contains("head") ? element.parentNode : element)?.classList.add("selected");
  if (node) showNode(panel, node, graph, view, acts);
  else if (group) showGroup(panel, group, drawn, acts, askRows);
  else if (element) showEdge(panel, lineOf(element, what), drawn, acts, shown);
  else showNothing(panel);
}

/** Lights the pinned path, and shows its steps. */
function showPinned() {
  const id = pinned();
  for (const each of picture.querySelectorAll("[aria-pressed]")) each.removeAttribute("aria-pressed");
  elementOf(picture, id)?.setAttribute("aria-pressed", "true");
  showPath(pathPanel, unfiltered, view, acts);
  minimap.light(id ? lightPath(picture, lines, drawn, id, shown.boxFor) : null);
  if (!id) unlight(picture);
}

const askRows = () => askTable(tableOf(view));

/** Returns the line of an element. If `what` is one of several edges that the line represents, it replaces the
 * line's edge. */
function lineOf(element, what) {
  const line = lines.get(element.dataset.edge);
  const edge = drawn.edges.get(what);
  return edge && keyOf(line.edge) !== what ? { ...line, edge, members: [what] } : line;
}

// -- Listening ---------------------------------------------------------------------------------------------------------

const PRESSED = ".toggle, .hop, .hidden-node, .page-rows, .head, .row, .edge[data-edge]";

function lightAt(target) {
  const found = target.closest?.(".head, .row, .edge[data-edge]");
  if (!shown || pinned() || !found || !picture.contains(found)) return;
  if (found.dataset.edge) lightEdge(picture, lines, lines.get(found.dataset.edge));
  else if (drawn.nodes.has(found.dataset.id)) lightPath(picture, lines, drawn, found.dataset.id, shown.boxFor);
}

/** Ends the highlighting of what was pointed at. A pinned path stays lit. */
function unlightPointed() {
  if (!pinned()) unlight(picture);
  tip.hidden = true;
}

/** Shows the whole name of the element under the pointer or with the focus. */
function showWhole(target) {
  const found = target.closest?.(".head, .row");
  const node = found && graph?.nodes.get(found.dataset.id);
  tip.hidden = !node;
  if (!node) return;
  const whole = titleOf(node);
  tip.textContent = whole.length > 2000 ? `${whole.slice(0, 2000)}…` : whole;
}

picture.addEventListener("click", (event) => {
  const found = event.target.closest(PRESSED);
  if (found) acts.press(found);
  const stop = found?.closest(".head, .row, .hidden-node") ?? found?.parentNode?.querySelector?.(":scope > .head");
  if (stop) stopAt(picture, stop, true);
});
picture.addEventListener("pointerover", (event) => {
  if (event.buttons) return;
  lightAt(event.target);
  showWhole(event.target);
});
picture.addEventListener("pointerout", (event) => {
  if (picture.contains(event.relatedTarget) && event.relatedTarget.closest(".head, .row, .edge")) return;
  unlightPointed();
});
// A focus listener on the diagram itself would make it a further stop of the Tab key.
const stage = picture.parentNode;
stage.addEventListener("focusin", (event) => {
  if (!picture.contains(event.target)) return;
  stopAt(picture, event.target, false);
  zoom.reveal(event.target);
  lightAt(event.target);
  showWhole(event.target);
});
stage.addEventListener("focusout", unlightPointed);
picture.addEventListener("input", (event) => {
  const { filter } = event.target.dataset;
  if (!filter) return;
  scrolled.filter(filter, event.target.value);
  scrolledTo(filter);
});
zoom.scrollRows = (target, by) => {
  const box = target.closest?.(".node.long");
  return Boolean(box && acts.scrollRows(box.dataset.box, by));
};
listenToKeys(picture, zoom, () => ({ graph: drawn, lines }), acts);

const now = () => ({ graph, places, boxFor: shown.boxFor });
const find = new Find(document.getElementById("find"), now, (node) => acts.reveal(node));
const filterForm = new FilterForm(document.getElementById("filters"), acts, askRows);

list.addEventListener("toggle", () => list.open && drawn && fillList(table, drawn, acts));

form.addEventListener("change", (event) => {
  if (event.target.name !== "entity") acts.change(readSwitches(form, view));
});
form.addEventListener("submit", (event) => {
  if (event.submitter?.name === "form") return;
  event.preventDefault();
  const entity = form.elements.entity.value.trim();
  if (entity === view.entity || entity === form.elements.entity.dataset.means) show();
  else go(startingAt(view, entity));
});
window.addEventListener("popstate", () => {
  const anchor = graph?.start;
  const was = view;
  view = readView(location.search);
  // Going back over a selection alone needs no request.
  if (searchOf({ ...was, selected: "" }) === searchOf({ ...view, selected: "" }) && graph) showSelected();
  else show(was.entity === view.entity ? anchor : "");
});

const tableAddress = (form) => addressOf("/lineage", { ...tableOf(view), [form]: true });
listenToTools(page, picture, zoom, find, () => ({ places, name: fileName(), table: tableAddress }));

function fileName() {
  const node = graph.nodes.get(graph.start);
  return `lineage-${calledIn(node).own}`.replace(/[^\p{L}\p{N}_.-]+/gu, "_").slice(0, 80);
}

document.getElementById("legend").append(...legend());
warmUp();
show();
