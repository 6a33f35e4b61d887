// The view: the request, the opened boxes and the selection. The address contains all of it, so that it can be
// shared.

/** Switches that change the request. */
export const ASKED = ["operations", "deleted", "control_flow", "unlinked", "all_executions"];
/** Switches that change only the drawing. */
export const DRAWN = ["databases", "all_columns"];
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
    pinned: given.get("pinned") ?? "",
    only: given.get("only") === "true" && given.has("pinned"),
    apart: new Set(given.getAll("apart")),
    filters: given.getAll("filter").filter((each) => filterOf(each)),
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
  if (view.pinned) query.set("pinned", view.pinned);
  if (view.only) query.set("only", "true");
  for (const id of view.apart) query.append("apart", id);
  for (const each of view.filters) query.append("filter", each);
  return `?${query}`;
}

/** Returns the parameters of the request to the server. */
export function questionOf(view) {
  const asked = { entity: view.entity, direction: view.direction };
  if (view.depth) asked.depth = view.depth;
  for (const name of ASKED) if (view[name]) asked[name] = true;
  if (view.depth && view.goOn.size) asked.go_on = [...view.goOn];
  if (view.toggled.size || view.all_columns || view.pinned) asked.columns = true;
  return asked;
}

/** Returns the parameters of a request for the lineage as a table. */
export function tableOf(view) {
  const { columns: _, operations: __, ...asked } = questionOf(view);
  return asked;
}

/** Fields by which nodes can be filtered, in words. */
export const FILTERED = {
  tag: "Tag",
  owner: "Owner",
  database: "Database",
  source: "Source",
  engine: "Engine",
  older: "Last run more than … days ago",
};

/** Returns the parts of a filter, written as FIELD:is:VALUE or FIELD:not:VALUE; null if it is not a filter. */
export function filterOf(text) {
  const [, field, sign, value] = /^(\w+):(is|not):(.+)$/s.exec(text) ?? [];
  if (!FILTERED[field]) return null;
  if (field === "older" && !/^\d{1,5}$/.test(value)) return null;
  return { field, not: sign === "not", value };
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

/** Returns the same view with another start, and with nothing opened, pinned or selected. */
export function startingAt(view, entity, changes = {}) {
  const sets = { toggled: new Set(), goOn: new Set(), also: new Set(), apart: new Set() };
  return { ...view, ...sets, entity, selected: "", pinned: "", only: false, ...changes };
}
