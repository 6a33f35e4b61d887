// Messages of the page: its progress, errors, and omissions from the diagram.

import { agreeing, counted, oneLine, printable, titleOf } from "./names.js";
import { html } from "./svg.js";

const STATES = {
  empty: "Name a table, a column, a path or an operation above.",
  asking: "Loading…",
  arranging: "Laying out…",
  drawing: "Drawing…",
  ready: "",
};

/** Sets `data-state` of the page, and shows the state in words. The old diagram stays until there is a new one. */
export function showState(page, state) {
  page.dataset.state = state;
  page.setAttribute("aria-busy", String(["asking", "arranging", "drawing"].includes(state)));
  page.querySelector("#state").textContent = STATES[state];
  page.querySelector("#problem").hidden = true;
}

/** Shows an error, the entities that may have been meant, and a button to try again. */
export function showProblem(page, problem, { again, startAt }) {
  page.dataset.state = "failed";
  page.setAttribute("aria-busy", "false");
  page.querySelector("#state").textContent = "";
  const meant = problem.more?.candidates ?? problem.more?.suggestions ?? [];
  const choices = meant.map((each) => {
    const words = `${each.type.toLowerCase()} ${oneLine(each.name)}${each.deleted ? ", deleted" : ""}`;
    return html("li", {}, html("button", { type: "button", class: "to-node", click: () => startAt(each.id) }, words));
  });
  const place = page.querySelector("#problem");
  place.replaceChildren(
    html("p", {}, printable(problem.message)),
    choices.length ? html("ul", {}, ...choices) : "",
    problem.status === 401 ? html("p", {}, html("a", { href: logIn() }, "Log in")) : "",
    html("button", { type: "button", class: "quiet", id: "again", click: again }, "Try again"),
  );
  place.hidden = false;
}

/** Returns the address of the log-in page, which leads back to this view. */
function logIn() {
  const next = location.pathname + location.search;
  return `${document.body.dataset.base}/login?${new URLSearchParams({ next })}`;
}

/** Shows the number of objects and lines, and notes on omissions. */
export function showSummary(page, graph, shown, acts) {
  const groups = [...shown.boxes.values()].filter((box) => box.group).map((box) => box.group);
  const grouped = groups.reduce((sum, group) => sum + group.members.length, 0);
  const parts = [counted(shown.boxes.size - groups.length + grouped, "node"), counted(shown.lines.length, "edge")];
  if (grouped) parts.push(`${grouped} in ${counted(groups.length, "group")}`);
  if (shown.hidden.length) parts.push(`${shown.hidden.length} collapsed`);
  const byReason = Map.groupBy(shown.notes, (cut) => cut.reason);
  const notes = [...byReason].map(([reason, cuts]) => html("li", { "data-reason": reason }, noteOf(cuts, acts)));
  const between = graph.deletedBetween();
  if (between) {
    const words = `${counted(between, "deleted node")} ${agreeing(between, "lies", "lie")} between others. `;
    notes.push(html("li", { "data-reason": "deleted" }, words, change(agreeing(between, "Show it", "Show them"), { deleted: true }, acts)));
  }
  if (graph.unlinked) {
    const words = `${counted(graph.unlinked, "reference")} to ${agreeing(graph.unlinked, "an entity that was", "entities that were")} never extracted. `;
    notes.push(html("li", { "data-reason": "unlinked" }, words, change("Show", { unlinked: true }, acts)));
  }
  for (const { id, direction } of graph.nothing) {
    const words = `${titleOf(graph.nodes.get(id))} has no further ${direction}.`;
    notes.push(html("li", { "data-reason": "nothing more" }, words));
  }
  if (!shown.lines.length && !shown.hidden.length) {
    const words = "No lineage recorded. Try showing operations or missing entities.";
    notes.push(html("li", { "data-reason": "nothing" }, words));
  }
  page.querySelector("#summary").textContent = parts.join(", ");
  page.querySelector("#notes").replaceChildren(...notes);
}

const WORDS = {
  executions: "only the latest executions are shown. ",
  columns: "column limit reached.",
  walked: "search limit reached.",
  time: "time limit reached; reload the page to get further.",
  depth: "more beyond the selected depth.",
  nodes: "node limit reached.",
  fan_out: "too many relations to follow from this node.",
  starts: "only the first entities are shown.",
};

/** Returns one note for all truncations with the same reason. */
function noteOf([cut, ...others], acts) {
  const more = others.length ? ` and ${counted(others.length, "more place")}` : "";
  const words = `${oneLine(cut.name)}${more}: ${WORDS[cut.reason] ?? cut.reason}`;
  const all = cut.reason === "executions" ? change("Show all", { all_executions: true }, acts) : null;
  return html("span", {}, words, all);
}

function change(words, changes, acts) {
  return html("button", { type: "button", class: "quiet", click: () => acts.change(changes) }, words);
}
