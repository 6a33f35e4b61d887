// The view: the request, the opened boxes and the selection. The address contains all of it, so that it can be
// shared.

/** Switches that change the request. */
export const ASKED = ["operations", "deleted", "control_flow", "unlinked", "all_executions"];
/** Switches that change only the drawing. */
export const DRAWN = ["databases"];
const DIRECTIONS = ["both", "upstream", "downstream"];

/** Returns the view that an address's query string describes; missing values have their defaults. */
export function readView(search) {
  const given = new URLSearchParams(search);
  const direction = given.get("direction") ?? "both";
  const view = {
    entity: given.get("entity") ?? "",
    direction: DIRECTIONS.includes(direction) ? direction : "both",
    depth: depthOf(given.get("depth")),
    toggled: new Set(given.getAll("open")),
    goOn: new Set(given.getAll("go_on")),
    also: new Set(given.getAll("also").filter((each) => /^(up|down)stream:./.test(each))),
    selected: given.get("selected") ?? "",
  };
  for (const name of [...ASKED, ...DRAWN]) view[name] = given.get(name) === "true";
  return view;
}

function depthOf(text) {
  if (text === "all") return 0;
  const hops = Number.parseInt(text ?? "1", 10);
  return hops >= 1 && hops <= 1000 ? hops : 1;
}

/** Returns the query string of a view, without values equal to their defaults. */
export function searchOf(view) {
  const query = new URLSearchParams({ entity: view.entity });
  if (view.direction !== "both") query.set("direction", view.direction);
  if (view.depth !== 1) query.set("depth", view.depth || "all");
  for (const name of [...ASKED, ...DRAWN]) if (view[name]) query.set(name, "true");
  for (const id of view.goOn) query.append("go_on", id);
  for (const each of view.also) query.append("also", each);
  for (const id of view.toggled) query.append("open", id);
  if (view.selected) query.set("selected", view.selected);
  return `?${query}`;
}

/** Returns the parameters of the request to the server. */
export function questionOf(view) {
  const asked = { entity: view.entity, direction: view.direction };
  if (view.depth) asked.depth = view.depth;
  for (const name of ASKED) if (view[name]) asked[name] = true;
  if (view.depth && view.goOn.size) asked.go_on = [...view.goOn];
  if (view.toggled.size) asked.columns = true;
  return asked;
}

/** Returns requests for one hop from nodes, opposite to the direction that led to them. `also` has the direction
 * and id of each. */
export function questionsAlso(view) {
  return [...view.also].map((each) => {
    const [way, ...id] = each.split(":");
    const asked = { ...questionOf(view), entity: id.join(":"), direction: way, depth: 1 };
    delete asked.go_on;
    return asked;
  });
}

/** Returns the same view with another start, and with nothing opened or selected. */
export function startingAt(view, entity, changes = {}) {
  return { ...view, entity, toggled: new Set(), goOn: new Set(), also: new Set(), selected: "", ...changes };
}
