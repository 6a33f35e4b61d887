// Filters of the diagram: by tag, owner, database, source, engine and last run. The facts come with the lineage as a table.

import { counted, engineIn, printable } from "./names.js";
import { FILTERED, filterOf } from "./view.js";
import { html } from "./svg.js";

const DAY_MS = 86_400_000;
/** Types that are never filtered: they connect data. */
const PASSING = /^(OPERATION|SUB_OPERATION|OPERATION_EXECUTION)$/;

/** Returns the ids of the boxes that the filters hide. `rows` is the lineage as a table. The start is never hidden. */
export function hiddenBy(filters, graph, rows, now = Date.now()) {
  const wanted = filters.map(filterOf);
  if (!wanted.length) return new Set();
  const facts = factsOf(rows);
  const boxes = [...graph.nodes.values()].filter((node) => !graph.holder.has(node.id) && !PASSING.test(node.type));
  const start = graph.boxOf(graph.start);
  const hides = (node) => node.id !== start && !fits(wanted, facts.get(node.id) ?? NO_FACTS, now);
  return new Set(boxes.filter(hides).map((node) => node.id));
}

const NO_FACTS = { tag: [], owner: [], database: [], source: [], engine: [], lastRun: null };

/** Returns id → values by field, for each node. The engines of a node are its own and those of the statements around it.
 * The tags of a table include those of its columns. */
export function factsOf(rows) {
  const facts = new Map();
  for (const row of rows.filter((each) => each.kind === "node")) {
    const one = (value) => (value ? [value] : []);
    facts.set(row.id, {
      tag: [...row.tags],
      owner: one(row.owner),
      database: one(row.database),
      source: one(row.source),
      engine: one(row.engine),
      lastRun: row.lastRun,
    });
  }
  for (const row of rows.filter((each) => each.kind === "edge" && each.engine)) {
    for (const id of [row.fromId, row.toId]) facts.get(id)?.engine.push(row.engine);
  }
  return facts;
}

/** Whether a node fits the filters: one of the values of each field, and none of the excluded ones. */
function fits(wanted, facts, now) {
  const matches = ({ field, value }) => {
    if (field !== "older") return facts[field].some((each) => each.toLowerCase() === value.toLowerCase());
    return facts.lastRun !== null && now - Date.parse(facts.lastRun) > Number(value) * DAY_MS;
  };
  if (wanted.some((each) => each.not && matches(each))) return false;
  const byField = Map.groupBy(wanted.filter((each) => !each.not), (each) => each.field);
  return [...byField.values()].every((each) => each.some(matches));
}

const SIGNS = { is: "is", not: "is not" };

/** The form that adds filters, and the list of those in force. */
export class FilterForm {
  constructor(place, acts, askRows) {
    this.place = place;
    this.acts = acts;
    this.askRows = askRows;
    this.field = html("select", { name: "field", "aria-label": "Field", change: () => this.suggest() });
    this.field.append(...Object.entries(FILTERED).map(([value, words]) => new Option(words, value)));
    this.sign = html("select", { name: "sign", "aria-label": "Only these, or not these" });
    this.sign.append(...Object.entries(SIGNS).map(([value, words]) => new Option(words, value)));
    this.values = html("datalist", { id: "filter-values" });
    this.value = html("input", { name: "value", list: "filter-values", "aria-label": "Value", autocomplete: "off", focus: () => this.suggest() });
    this.list = html("ul", { class: "in-force", "aria-label": "Filters in force" });
    const form = html("form", { class: "add-filter", submit: (event) => this.#add(event) }, this.field, this.sign, this.value, this.values);
    form.append(html("button", { type: "submit", class: "quiet" }, "Add filter"));
    place.append(form, this.list);
  }

  /** Offers the values that the nodes of the diagram have. */
  async suggest() {
    const field = this.field.value;
    this.value.inputMode = field === "older" ? "numeric" : "text";
    this.value.placeholder = field === "older" ? "days" : "";
    if (field === "older") {
      this.values.replaceChildren();
      return;
    }
    const rows = await this.askRows().catch(() => []);
    const values = new Set([...factsOf(rows).values()].flatMap((each) => each[field]));
    this.values.replaceChildren(...[...values].toSorted().slice(0, 1000).map((each) => new Option(printable(each), each)));
  }

  #add(event) {
    event.preventDefault();
    event.stopPropagation();
    const text = `${this.field.value}:${this.sign.value}:${this.value.value.trim()}`;
    if (!filterOf(text)) {
      this.value.focus();
      return;
    }
    this.value.value = "";
    this.acts.filter([...new Set([...this.acts.filters(), text])]);
  }

  /** Shows the filters in force, and the number of nodes that they hide. */
  show(filters, hidden) {
    const items = filters.map((text) => {
      const { field, not, value } = filterOf(text);
      const shown = field === "engine" ? engineIn(value) : printable(value);
      const words = field === "older" ? `Last run ${not ? "not " : ""}more than ${counted(Number(value), "day")} ago` : `${FILTERED[field]} ${not ? "is not" : "is"} ${shown}`;
      const remove = () => this.acts.filter(filters.filter((each) => each !== text));
      return html("li", {}, words, " ", html("button", { type: "button", class: "quiet", "aria-label": `remove the filter ${words}`, click: remove }, "×"));
    });
    if (filters.length) items.push(html("li", { class: "dim", id: "filtered-count" }, `${counted(hidden, "node")} filtered out; paths through them stay`));
    this.list.replaceChildren(...items);
    this.list.hidden = !items.length;
    if (items.length) this.place.open = true;
  }
}
