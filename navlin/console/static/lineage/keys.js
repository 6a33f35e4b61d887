// Keyboard control of the diagram: one stop of the Tab key; arrow keys along edges and between neighbours; Enter,
// Space, P, + - 0, and the keys that scroll the rows of a long box.

const STEP_PX = 60;

/** Returns the element that an arrow key leads to; null if there is none. */
function neighbour(picture, graph, lines, from, key) {
  if (key === "ArrowLeft" || key === "ArrowRight") return alongEdge(picture, graph, lines, from, key === "ArrowRight");
  return inColumn(picture, from, key === "ArrowDown");
}

function alongEdge(picture, graph, lines, from, forward) {
  const id = from.dataset.id ?? from.dataset.start;
  const near = forward ? "from" : "to";
  const far = forward ? "to" : "from";
  const leading = [...lines.values()].filter((line) => (line[near].row || line[near].box) === id && !line.loop);
  // Other relations, such as those to a location, are followed only if there is no flow.
  const flows = leading.filter((line) => line.type.endsWith("_FLOW"));
  const reached = (flows.length ? flows : leading).map((line) => line[far].row || line[far].box);
  // From a hidden node, lead back to the node to which it belongs.
  if (from.dataset.hidden) reached.push(graph.boxOf(id));
  const found = reached.map((each) => elementOf(picture, each)).filter(Boolean);
  if (!found.length && from.classList.contains("row")) return elementOf(picture, from.dataset.parent);
  const hidden = forward ? "downstream" : "upstream";
  if (!found.length) {
    const more = [...picture.querySelectorAll(".hidden-node")];
    found.push(...more.filter((each) => each.dataset.start === id && each.dataset.way === hidden));
  }
  return nearest(from, found);
}

/** Returns the next element above or below: a row of the same box, or an element in the same column of the
 * diagram. */
function inColumn(picture, from, down) {
  const at = from.getBoundingClientRect();
  const all = [...picture.querySelectorAll(".head, .row, .hidden-node, .box-filter")].filter((each) => {
    const place = each.getBoundingClientRect();
    const beside = place.left < at.right && place.right > at.left;
    return each !== from && beside && (down ? place.top >= at.bottom - 1 : place.bottom <= at.top + 1);
  });
  return nearest(from, all);
}

function nearest(from, found) {
  const middle = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const [x, y] = middle(from);
  const far = (element) => Math.hypot(middle(element)[0] - x, middle(element)[1] - y);
  return found.reduce((best, each) => (best === null || far(each) < far(best) ? each : best), null);
}

/** Returns the focusable element of a node. */
export function elementOf(picture, id) {
  const inside = `[data-id="${CSS.escape(id)}"]`;
  return picture.querySelector(`.head${inside}, .row${inside}`);
}

/** Makes one element the diagram's stop of the Tab key, and focuses it if `focus`. */
export function stopAt(picture, element, focus) {
  for (const other of picture.querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
  element.setAttribute("tabindex", "0");
  if (focus) element.focus({ preventScroll: true });
}

/** Handles key presses. `now()` returns the graph and its lines; `acts` are the actions. */
export function listenToKeys(picture, zoom, now, acts) {
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input")) {
      if (onFilter(picture, event)) event.preventDefault();
      return;
    }
    if (onPicture(event, zoom, acts) || onElement(picture, event, now(), acts)) event.preventDefault();
  });
}

function onPicture(event, zoom, acts) {
  const pans = { ArrowLeft: [STEP_PX, 0], ArrowRight: [-STEP_PX, 0], ArrowUp: [0, STEP_PX], ArrowDown: [0, -STEP_PX] };
  if (event.key === "+" || event.key === "=") zoom.by(1.25);
  else if (event.key === "-") zoom.by(0.8);
  else if (event.key === "0") zoom.fit();
  else if (event.key === "Escape") acts.clear();
  else if (event.shiftKey && pans[event.key]) zoom.pan(...pans[event.key]);
  else return false;
  return true;
}

function onElement(picture, event, { graph, lines }, acts) {
  const from = event.target.closest?.(".head, .row, .hidden-node");
  if (!from || !graph) return false;
  if (scrolls(picture, event.key, from, acts)) return true;
  if (event.key.startsWith("Arrow")) {
    const next = neighbour(picture, graph, lines, from, event.key);
    if (next) stopAt(picture, next, true);
    return true;
  }
  const box = from.closest("[data-box]");
  if (event.key === "Enter") acts.press(from);
  else if (event.key === "p" && from.dataset.id && graph.nodes.has(from.dataset.id)) acts.pin(from.dataset.id);
  else if (event.key === " ") acts.press(box?.querySelector(".toggle"));
  else if (event.key === "<" || event.key === ",") acts.hop(box?.dataset.box, "upstream");
  else if (event.key === ">" || event.key === ".") acts.hop(box?.dataset.box, "downstream");
  else return false;
  return true;
}

/** Leaves the filter of a long box by arrow keys or Escape. */
function onFilter(picture, event) {
  const box = event.target.closest("[data-box]");
  const next = { ArrowDown: ".row", ArrowUp: ".head", Escape: ".head" }[event.key];
  const element = next && box.querySelector(next);
  if (element) stopAt(picture, element, true);
  return Boolean(element);
}

/** Scrolls the rows of a long box if a key leads beyond the visible ones. The focus stays at its place in the box. */
function scrolls(picture, key, from, acts) {
  const box = from.closest(".node.long");
  if (!box || !from.matches(".row")) return false;
  const id = box.dataset.box;
  const rows = [...box.querySelectorAll(".row")];
  const at = rows.indexOf(from);
  const page = { PageDown: rows.length - 1, PageUp: 1 - rows.length }[key];
  const step = key === "ArrowDown" && at === rows.length - 1 ? 1 : key === "ArrowUp" && at === 0 ? -1 : 0;
  if (!page && !step) return false;
  if (!acts.scrollRows(id, page ?? step)) return Boolean(page);
  const now = picture.querySelectorAll(`[data-box="${CSS.escape(id)}"] .row`);
  stopAt(picture, now[Math.min(at, now.length - 1)], true);
  return true;
}
