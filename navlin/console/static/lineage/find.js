// Find in the diagram: tables and columns whose names contain a text, one after the other, including those that are
// folded into closed tables and groups.

import { askColumnsNamed } from "./ask.js";
import { inWords, titleOf } from "./names.js";

const PAUSE_MS = 200;
const MOST_HITS = 1000;
const WITH_COLUMNS = new Set(["TABLE", "VIEW", "DATASET", "FILE", "DIRECTORY"]);

/** The find bar. `now()` returns the graph, the boxes' places, and the function from a node's id to its box in the
 * drawing. `goTo(hit)` shows a hit. */
export class Find {
  constructor(form, now, goTo) {
    this.form = form;
    this.field = form.querySelector("input");
    this.count = form.querySelector("output");
    this.now = now;
    this.goTo = goTo;
    this.text = "";
    this.hits = [];
    this.at = -1;
    this.asking = null;
    this.before = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.step(event.submitter?.value === "previous" ? -1 : 1);
    });
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), PAUSE_MS);
    });
    form.addEventListener("keydown", (event) => this.#key(event));
    form.querySelector("[data-close]").addEventListener("click", () => this.close());
  }

  open() {
    if (this.form.hidden) this.before = document.activeElement;
    this.form.hidden = false;
    this.field.focus();
    this.field.select();
  }

  close() {
    this.asking?.abort();
    this.form.hidden = true;
    this.before?.focus?.({ preventScroll: true });
  }

  #key(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.field) this.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Goes to the next hit, or to the previous one; after the last follows the first. */
  async step(by) {
    clearTimeout(this.timer);
    if (this.field.value.trim() !== this.text) await this.search();
    if (!this.hits.length) return;
    this.at = (this.at + (this.at < 0 && by < 0 ? 0 : by) + this.hits.length) % this.hits.length;
    this.#say();
    this.goTo(this.hits[this.at]);
  }

  /** Finds the hits of the text: those in the diagram at once, then the columns of its tables that are not in it. */
  async search() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.text = this.field.value.trim();
    this.at = -1;
    this.hits = [];
    const { graph } = this.now();
    if (!graph || !this.text) {
      this.count.textContent = "";
      return;
    }
    const folded = this.text.toLowerCase();
    const known = [...graph.nodes.values()].filter((node) => !node.idle && ownHas(node, folded));
    this.#take(known);
    const dot = this.text.lastIndexOf(".");
    const [of, own] = [this.text.slice(0, Math.max(dot, 0)), this.text.slice(dot + 1)];
    const tables = tablesIn(graph).filter((node) => node.name.toLowerCase().endsWith(of.toLowerCase()));
    this.count.textContent = "Searching columns…";
    try {
      const columns = own ? await askColumnsNamed(tables.map((node) => node.id), own, asking.signal) : [];
      const names = new Map(tables.map((node) => [node.id, node.name]));
      const further = columns.filter((each) => !graph.nodes.has(each.id) || graph.nodes.get(each.id).idle);
      this.#take([...known, ...further.map((each) => ({ ...each, name: `${names.get(each.parent)}.${each.name}` }))]);
      this.#say();
    } catch (error) {
      if (error.name !== "AbortError") this.count.textContent = `${this.hits.length} found; columns: ${error.message}`;
    }
  }

  #take(nodes) {
    const { places, boxFor, graph } = this.now();
    const order = new Map(places.boxes.toSorted((one, other) => one.x - other.x || one.y - other.y).map(({ box }, number) => [box.id, number]));
    const boxOf = (node) => boxFor(graph.nodes.has(node.id) ? node.id : node.parent);
    const placed = nodes.map((node) => ({ node, place: order.get(boxOf(node)) ?? Infinity, title: titleOf(node) }));
    placed.sort((one, other) => one.place - other.place || (one.title < other.title ? -1 : 1));
    this.hits = placed.slice(0, MOST_HITS).map(({ node }) => node);
  }

  #say() {
    const { length } = this.hits;
    const hit = this.hits[this.at];
    if (!length) this.count.textContent = "nothing found";
    else if (!hit) this.count.textContent = `${length} found`;
    else this.count.textContent = `${this.at + 1} of ${length}: ${inWords(hit.type)} ${titleOf(hit)}`;
  }
}

function tablesIn(graph) {
  const fits = (node) => WITH_COLUMNS.has(node.type) && !node.placeholder && !graph.holder.has(node.id);
  return [...graph.nodes.values()].filter(fits);
}

/** Whether a node's name has the text. A column's does not if only its table's name has it. */
function ownHas(node, folded) {
  if (!titleOf(node).toLowerCase().includes(folded)) return false;
  if (node.type !== "FIELD" || folded.includes(".")) return true;
  return node.name.slice(node.name.lastIndexOf(".") + 1).toLowerCase().includes(folded);
}
