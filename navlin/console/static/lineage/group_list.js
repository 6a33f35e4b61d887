// The panel of a group: its members as a list that can be searched, sorted and divided, and shown in the diagram.

import { factsOf } from "./filters.js";
import { groupAloud } from "./groups.js";
import { breakable, counted, printable, titleOf } from "./names.js";
import { html } from "./svg.js";

const LISTED = 200;
/** Number of members that are shown in the diagram at once. */
const MOST_SHOWN = 100;
const DIVIDED = { "": "no", database: "database", owner: "owner", tag: "tag" };
const SORTED = { name: "name", lastRun: "last run" };

/** Shows a group. `askRows()` returns the lineage as a table, for owners, tags and last runs. */
export function showGroup(panel, group, graph, acts, askRows) {
  const search = html("input", { type: "search", id: "group-search", "aria-label": `search the ${group.name}`, placeholder: "Search" });
  const divide = choice("group-by", "Divided by", DIVIDED);
  const sort = choice("group-sort", "Sorted by", SORTED);
  const list = html("div", { id: "group-list" });
  let facts = null;
  const fill = async () => {
    if ((divide.field.value || sort.field.value === "lastRun") && !facts) {
      list.replaceChildren(html("p", { class: "dim" }, "Asking…"));
      try {
        facts = factsOf(await askRows());
      } catch (error) {
        list.replaceChildren(html("p", { class: "problem" }, printable(error.message)));
        return;
      }
    }
    const text = search.value.trim().toLowerCase();
    const fitting = group.members.filter((node) => titleOf(node).toLowerCase().includes(text));
    if (sort.field.value === "lastRun") {
      const last = (node) => facts.get(node.id)?.lastRun ?? "";
      fitting.sort((one, other) => (last(one) < last(other) ? 1 : -1));
    }
    list.replaceChildren(...sectionsOf(fitting, divide.field.value, facts, acts));
  };
  search.addEventListener("input", fill);
  for (const { field } of [divide, sort]) field.addEventListener("change", fill);
  const words = groupAloud(group, graph);
  panel.replaceChildren(
    html("h2", {}, words.charAt(0).toUpperCase() + words.slice(1)),
    html("div", { class: "choices" }, search, divide.label, sort.label),
    list,
  );
  fill();
}

function choice(id, words, options) {
  const field = html("select", { id });
  field.append(...Object.entries(options).map(([value, text]) => new Option(text, value)));
  return { field, label: html("label", {}, `${words} `, field) };
}

/** Returns the members under headings, each with the button that shows them in the diagram. */
function sectionsOf(nodes, by, facts, acts) {
  if (!nodes.length) return [html("p", { class: "dim", role: "status" }, "No member has this in its name.")];
  const sections = new Map();
  for (const node of nodes) {
    const values = by ? (facts.get(node.id)?.[by] ?? []) : [""];
    for (const value of values.length ? values : [`no ${by}`]) sections.set(value, [...(sections.get(value) ?? []), node]);
  }
  const named = [...sections].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return named.flatMap(([value, members]) => [
    html(
      "p",
      { class: "acts" },
      html("strong", {}, by ? `${printable(value)}: ${members.length}` : counted(members.length, "member")),
      showButton(value, members, acts),
    ),
    html(
      "ul",
      { class: "members" },
      ...members.slice(0, LISTED).map((node) =>
        html("li", {}, html("button", { type: "button", class: "to-node", click: () => acts.reveal(node) }, ...breakable(titleOf(node)))),
      ),
      members.length > LISTED ? html("li", { class: "dim" }, `and ${members.length - LISTED} more: search, or save the table`) : null,
    ),
  ]);
}

function showButton(value, members, acts) {
  const some = members.slice(0, MOST_SHOWN);
  const words = some.length < members.length ? `Show the first ${some.length}` : "Show these";
  const attributes = { type: "button", class: "quiet show-these", "aria-label": value ? `${words}: ${printable(value)}` : null };
  return html("button", { ...attributes, click: () => acts.takeOut(some.map((node) => node.id)) }, words);
}
