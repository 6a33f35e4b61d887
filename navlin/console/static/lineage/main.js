// The lineage diagram: from the address to a request, its response, a layout and a drawing, and back to the address.

import { Problem, ask, askColumns } from "./ask.js";
import { showEdge, showNode, showNothing } from "./details.js";
import { dotOf } from "./dot.js";
import { draw } from "./draw.js";
import { Graph, joined, keyOf, mayTurn } from "./graph.js";
import { elementOf, listenToKeys, stopAt } from "./keys.js";
import { Cancelled, layOut, warmUp } from "./layout.js";
import { legend } from "./legend.js";
import { lightEdge, lightPath, unlight } from "./light.js";
import { fillList } from "./list.js";
import { calledIn, oneLine, titleOf } from "./names.js";
import { pictureOf } from "./picture.js";
import { placesOf } from "./places.js";
import { showProblem, showState, showSummary } from "./state.js";
import { asPng, asSvg, download } from "./save.js";
import { readSwitches, showSwitches } from "./switches.js";
import { questionOf, questionsAlso, readView, searchOf, startingAt } from "./view.js";
import { Zoom } from "./zoom.js";

const page = document.getElementById("diagram");
const picture = document.getElementById("picture");
const panel = document.getElementById("selected");
const table = document.getElementById("edges");
const list = document.getElementById("list");
const tip = document.getElementById("whole-name");
const form = document.getElementById("switches");
const base = document.body.dataset.base ?? "";
const tabs = document.getElementById("tabs");
const zoom = new Zoom(picture, document.querySelector(".tools"));

let view = readView(location.search);
let graph = null;
let places = null;
let lines = new Map();
let asking = null;
let round = 0;

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
    const opened = [...view.toggled].map((id) => askColumns(id, asking.signal));
    const [answer, ...others] = await timed("server", () => Promise.all(asked));
    const columns = (await Promise.all(opened)).flat().filter((each) => view.deleted || !each.deleted);
    if (!current()) return;
    const begins = answer.nodes.find((node) => node.id === answer.start);
    graph = new Graph(joined(answer, others), view.toggled.size > 0, begins?.type === "FIELD" ? [] : columns);
    nameStart();
    if (list.open) fillList(table, graph, acts);
    await arrange(current, anchor);
  } catch (error) {
    if (!current() || error.name === "AbortError" || error instanceof Cancelled) return;
    const problem = error instanceof Problem ? error : new Problem(-1, error.message);
    showProblem(page, problem, { again: () => show(anchor), startAt: (id) => go(startingAt(view, id)) });
  }
}

async function arrange(current, anchor) {
  showState(page, "arranging");
  const shown = pictureOf(graph, view, fonts());
  const { dot, named } = dotOf(shown);
  const laidOut = await timed("layout", () => layOut(dot));
  if (!current()) return;
  showState(page, "drawing");
  const next = placesOf(laidOut, named, shown.databases);
  const scene = await timed("drawing", () => draw(next, graph, current, (arriving) => picture.prepend(arriving)));
  if (!scene || !current()) return;
  const before = placeOf(anchor);
  const screen = before && zoom.onScreen(before);
  const focused = focusedThing();
  places = next;
  lines = new Map(shown.lines.map((line) => [line.key, line]));
  zoom.show(scene, places);
  unlight(picture);
  if (screen && placeOf(anchor)) zoom.keep(placeOf(anchor), screen);
  else zoom.fit();
  stopAt(picture, elementOf(picture, graph.start) ?? picture.querySelector(".head"), false);
  restoreFocus(focused);
  showSummary(page, graph, shown, acts);
  showSelected();
  showState(page, "ready");
  performance.measure("navlin:picture", { start: 0 });
}

/** Puts the start's name into the title, and into the form in place of its id if the name identifies it, too. */
function nameStart() {
  const node = graph.nodes.get(graph.start);
  // A placeholder has no other page.
  tabs.hidden = Boolean(node.placeholder);
  for (const tab of tabs.querySelectorAll("a")) tab.search = new URLSearchParams({ entity: node.id });
  document.title = `Lineage of ${calledIn(node).own.slice(0, 100)} · navlin`;
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
  return id && graph && places?.boxes.find((place) => place.box.id === graph.boxOf(id));
}

/** Returns the focused element of the diagram, so that it can be focused again after a new drawing. */
function focusedThing() {
  const element = document.activeElement;
  if (!picture.contains(element) || element === picture) return null;
  const { id, toggle, hop, way } = element.dataset;
  return { id: id ?? toggle ?? hop, hop, way, toggle };
}

function restoreFocus(was) {
  if (!was) return;
  const box = elementOf(picture, was.id) ?? elementOf(picture, graph.start);
  if (box) stopAt(picture, box, true);
}

// -- Actions -----------------------------------------------------------------------------------------------------------

/** Shows another view, and puts it into the address. */
function go(next, anchor = "") {
  view = next;
  history.pushState(null, "", searchOf(view));
  show(anchor);
}

const acts = {
  startAt: (id) => go(startingAt(view, id)),
  toggle: (id) => go({ ...view, toggled: flipped(view.toggled, id) }, id),
  /** Shows one more hop from a box: where the response says that there is more, or else opposite to the direction
   * that led there. */
  hop(box, way) {
    if (!box || !graph) return;
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
    if (what !== view.selected) {
      view = { ...view, selected: what };
      history.pushState(null, "", searchOf(view));
    }
    showSelected();
    const shown = what && (elementOf(picture, what) ?? elementOf(picture, graph.boxOf(what)) ?? edgeElement(what));
    if (shown) zoom.reveal(shown);
    if (shown && focus && shown.matches("[role=button]")) stopAt(picture, shown, true);
  },
  press(element) {
    if (!element) return;
    const { toggle, hop, hidden, start, way, id } = element.dataset;
    if (toggle) acts.toggle(toggle);
    else if (hop) acts.hop(hop, way);
    else if (hidden) acts.hidden(start, way);
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
  const element = node ? elementOf(picture, what) : what ? edgeElement(what) : null;
  (element?.classList.contains("head") ? element.parentNode : element)?.classList.add("selected");
  if (node) showNode(panel, node, graph, view, acts);
  else if (element) showEdge(panel, lineOf(element, what), graph, acts);
  else showNothing(panel);
}

/** Returns the line of an element. If `what` is one of several edges that the line represents, it replaces the
 * line's edge. */
function lineOf(element, what) {
  const line = lines.get(element.dataset.edge);
  const edge = graph.edges.get(what);
  return edge && keyOf(line.edge) !== what ? { ...line, edge, members: [what] } : line;
}

// -- Listening ---------------------------------------------------------------------------------------------------------

const PRESSED = ".toggle, .hop, .hidden-node, .head, .row, .edge[data-edge]";

function lightAt(target) {
  const found = target.closest?.(".head, .row, .edge[data-edge]");
  if (!graph || !found || !picture.contains(found)) return;
  if (found.dataset.edge) lightEdge(picture, lines, lines.get(found.dataset.edge));
  else lightPath(picture, lines, graph, found.dataset.id);
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
  unlight(picture);
  tip.hidden = true;
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
stage.addEventListener("focusout", () => {
  unlight(picture);
  tip.hidden = true;
});
listenToKeys(picture, zoom, () => ({ graph, lines }), acts);

list.addEventListener("toggle", () => list.open && graph && fillList(table, graph, acts));

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

for (const [id, act] of Object.entries({
  nearer: () => zoom.by(1.25),
  farther: () => zoom.by(0.8),
  "fit-all": () => zoom.fit(),
  "save-svg": () => download(new Blob([asSvg(picture, places).text], { type: "image/svg+xml" }), `${fileName()}.svg`),
  "save-png": async () => download(await asPng(picture, places), `${fileName()}.png`),
})) {
  document.getElementById(id).addEventListener("click", act);
}

function fileName() {
  const node = graph.nodes.get(graph.start);
  return `lineage-${calledIn(node).own}`.replace(/[^\p{L}\p{N}_.-]+/gu, "_").slice(0, 80);
}

document.getElementById("legend").append(...legend());
warmUp();
show();
