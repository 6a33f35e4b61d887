// The view: what is asked for, what is opened and what is selected. The address has all of it, so that it can be sent.

/** Switches that the server answers by. */
export const ASKED = ["operations", "deleted", "control_flow", "unlinked", "all_executions"];
/** Switches of the picture alone. */
export const DRAWN = ["databases"];
const DIRECTIONS = ["both", "upstream", "downstream"];

/** The view that an address's query string describes; what it does not say has its default. */
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

/** The query string of a view: nothing that has its default. */
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

/** The parameters of the question to the server. */
export function questionOf(view) {
  const asked = { entity: view.entity, direction: view.direction };
  if (view.depth) asked.depth = view.depth;
  for (const name of ASKED) if (view[name]) asked[name] = true;
  if (view.depth && view.goOn.size) asked.go_on = [...view.goOn];
  if (view.toggled.size) asked.columns = true;
  return asked;
}

/** Questions for a hop from nodes against the way by which the view came to them: `also` has way and id of each. */
export function questionsAlso(view) {
  return [...view.also].map((each) => {
    const [way, ...id] = each.split(":");
    const asked = { ...questionOf(view), entity: id.join(":"), direction: way, depth: 1 };
    delete asked.go_on;
    return asked;
  });
}

/** The same view, begun at another entity: nothing is opened or selected in it. */
export function startingAt(view, entity, changes = {}) {
  return { ...view, entity, toggled: new Set(), goOn: new Set(), also: new Set(), selected: "", ...changes };
}
