// The panel next to the diagram: the details of the selected node or edge, and the texts of queries.

import { askShown } from "./ask.js";
import { mayTurn } from "./graph.js";
import { linkOf } from "./list.js";
import { agreeing, breakable, counted, engineIn, fieldWords, inWords, oneLine, printable, titleOf } from "./names.js";
import { html } from "./svg.js";

const TEXTS = ["queryTextFull", "queryText"];
const TEXT_TITLES = { OOZIE: "Definition", PIG: "Script" };
const EXPRESSION = "tp_expression";
const LISTED = 40;
const VIA_LISTED = 5;
const VALUE_CHARS = 500;

/** Shows a node. `acts` are the actions of its buttons. */
export function showNode(panel, node, graph, view, acts) {
  const id = node.id;
  const buttons = [
    html("button", { type: "button", class: "quiet", "data-act": "start", click: () => acts.startAt(id) }, "Center on this"),
    ...(mayTurn(graph, node) ? [hopButton("upstream", "Expand upstream", graph.boxOf(id), acts)] : []),
    ...(mayTurn(graph, node) ? [hopButton("downstream", "Expand downstream", graph.boxOf(id), acts)] : []),
    node.placeholder ? null : html("a", { href: acts.detailsAddress(id), "data-act": "details" }, "All details"),
    pinButton(node, view, acts),
  ];
  const states = [
    node.deleted && "deleted",
    (node.placeholder || node.granted) && "placeholder: referenced by a job, never extracted",
    node.idle && "no lineage recorded",
    node.unlinked && `${counted(node.unlinked, "reference")} to ${agreeing(node.unlinked, "an entity that was", "entities that were")} never extracted`,
  ].filter(Boolean);
  const facts = html("div", { class: "facts", "aria-live": "polite" });
  panel.replaceChildren(
    heading(node),
    ...states.map((state) => html("p", { class: "state" }, state)),
    html("p", { class: "acts" }, ...buttons),
    facts,
    ...flowsOf("Upstream", graph.into.get(id), "source", graph, acts),
    ...flowsOf("Downstream", graph.outOf.get(id), "target", graph, acts),
  );
  if (node.placeholder) facts.append(searchFor(node, acts));
  else fill(facts, id, acts);
  if (node.type === "FIELD") facts.before(...expressionsOf(graph.into.get(id) ?? [], acts));
}

function pinButton(node, view, acts) {
  const pinned = view.pinned === node.id;
  const attributes = { type: "button", class: "quiet", "data-act": "pin", click: () => acts.pin(pinned ? "" : node.id) };
  return html("button", attributes, pinned ? "Unpin its path" : "Pin its path");
}

/** Shows an edge, and the texts of the operations that it passes through. An edge at a group represents many. */
export function showEdge(panel, line, graph, acts, shown) {
  const { edge } = line;
  const ends = [line.from.box, line.to.box].map((id) => shown.boxes.get(id));
  if (ends.some((box) => box?.group)) {
    const end = (box) => (box.group ? groupButton(box, acts) : nodeButton(box.node, acts));
    panel.replaceChildren(
      html("h2", {}, inWords(line.type)),
      html("p", {}, end(ends[0]), " → ", end(ends[1])),
      html("p", {}, `Summarises ${counted(line.members.length, "edge")}.`),
    );
    return;
  }
  const name = (id) => nodeButton(graph.nodes.get(id), acts);
  const flags = ["inferred", "incomplete", "parsed"].filter((flag) => edge[flag]);
  const facts = html("div", { class: "facts", "aria-live": "polite" });
  panel.replaceChildren(
    html("h2", {}, inWords(line.type)),
    html("p", {}, name(edge.source), " → ", name(edge.target)),
    ...flags.map((flag) => html("p", { class: "state" }, FLAGS[flag])),
    facts,
  );
  if (line.members.length > 1) facts.append(html("p", {}, `Summarises ${line.members.length} column edges.`));
  if (edge.via.length) {
    facts.append(html("h3", {}, "Via"), html("ul", { class: "via" }, ...edge.via.map((hop) => viaOf(hop, acts))));
  }
  const operations = edge.via.filter((hop) => /OPERATION$/.test(hop.type) && !hop.placeholder).slice(0, VIA_LISTED);
  const stated = new Set();
  for (const hop of operations) {
    const place = html("div", {});
    facts.append(place);
    const statement = hop.type === "SUB_OPERATION" && hop.parent && !stated.has(hop.parent) ? hop.parent : hop.id;
    stated.add(statement);
    fill(place, hop.id, acts, true, statement);
  }
}

/** Returns the texts of the sub-operations on the edges into a column, which compute it. */
function expressionsOf(edges, acts) {
  const passed = edges.flatMap((edge) => edge.via).filter((hop) => hop.type === "SUB_OPERATION" && !hop.placeholder);
  const ids = [...new Set(passed.map((hop) => hop.id))].slice(0, VIA_LISTED);
  return ids.map((id) => {
    const place = html("div", { class: "made-by" });
    fill(place, id, acts, true);
    return place;
  });
}

const FLAGS = {
  inferred: "Inferred from the storage location; no job recorded it",
  incomplete: "Incomplete: something is missing in the record",
  parsed: "Parsed from SQL; no engine recorded it",
};

function hopButton(way, words, box, acts) {
  return html("button", { type: "button", class: "quiet", "data-act": way, click: () => acts.hop(box, way) }, words);
}

/** Shows a hint, because nothing is selected. */
export function showNothing(panel) {
  panel.replaceChildren(html("p", { class: "dim" }, "Select a node or edge to see its details."));
}

function heading(node) {
  const kind = html("p", { class: "dim" }, [node.sourceType ? engineIn(node.sourceType) : "", inWords(node.type)].join(" ").trim());
  const name = titleOf(node);
  return html("div", {}, kind, html("h2", { class: node.deleted ? "deleted" : null }, ...breakable(name)));
}

function viaOf(hop, acts) {
  const state = hop.deleted ? " (deleted)" : hop.placeholder ? " (placeholder)" : "";
  const kind = hop.type === "SUB_OPERATION" ? "operation" : inWords(hop.type);
  return html("li", {}, `${kind} `, linkOf(hop, acts), state);
}

function groupButton(box, acts) {
  return html("button", { type: "button", class: "to-node", click: () => acts.select(box.id, true) }, box.name);
}

function nodeButton(node, acts) {
  const attributes = { type: "button", class: "to-node", "data-to": node.id, click: () => acts.select(node.id, true) };
  return html("button", attributes, ...breakable(titleOf(node)));
}

function flowsOf(title, edges, far, graph, acts) {
  if (!edges?.length) return [];
  const items = edges.slice(0, LISTED).map((edge) => {
    const kind = edge.type === "CONTROL_FLOW" ? " control" : edge.type === "DATA_FLOW" ? "" : ` ${inWords(edge.type)}`;
    return html("li", {}, nodeButton(graph.nodes.get(edge[far]), acts), kind);
  });
  const more = edges.length - items.length;
  if (more > 0) items.push(html("li", { class: "dim" }, `and ${more} more in the list`));
  return [html("h3", {}, `${title} ${edges.length}`), html("ul", { class: "flows" }, ...items)];
}

function searchFor(node, acts) {
  const own = oneLine(node.name).split(".").pop();
  const escaped = own.replace(/[^\p{L}\p{N}_]/gu, "?");
  const address = acts.searchAddress(`queryText:*${escaped}*`);
  return html("p", {}, "Not extracted from any source. ", html("a", { href: address }, "Search queries that mention it"));
}

/** Adds the fields of an entity from the index. With `brief`, adds only its name and texts. The text of the query is that
 * of `statement`: for a sub-operation, its operation may be given. */
async function fill(place, id, acts, brief = false, statement = id) {
  place.replaceChildren(html("p", { class: "dim" }, "Loading…"));
  try {
    const [shown, stated] = await Promise.all([askShown(id), askShown(statement)]);
    const fields = fieldsOf(shown);
    const query = fieldsOf(stated);
    const text = TEXTS.find((name) => typeof query[name] === "string");
    const expression = [fields[EXPRESSION] ?? []].flat().join("\n");
    const known = Object.entries({ ...shown.fields.people, ...fields });
    const rows = known.filter(([name]) => !TEXTS.includes(name) && name !== EXPRESSION);
    place.replaceChildren(
      ...(brief && (text || expression) ? [html("h3", {}, titleOf(shown))] : []),
      ...(text ? [html("h3", {}, TEXT_TITLES[shown.sourceType] ?? "Query"), html("pre", { class: "query", tabindex: 0 }, printable(query[text]))] : []),
      ...(expression ? [html("h3", {}, "Expression"), html("pre", { class: "query", tabindex: 0 }, printable(expression))] : []),
      ...(brief ? [] : [factsOf(rows, acts), runsOf(shown.executions)]),
    );
  } catch (error) {
    place.replaceChildren(html("p", { class: "problem" }, printable(error.message)));
  }
}

function fieldsOf(shown) {
  return { ...shown.fields.extractor, ...shown.fields.technical, ...shown.fields.linker };
}

const TAGS = ["tags", "inheritedTag"];

function factsOf(rows, acts) {
  const cells = rows.flatMap(([name, value]) => {
    const title = html("dt", { title: printable(name) }, printable(fieldWords(name)));
    if (TAGS.includes(name)) return [title, html("dd", {}, ...[value].flat().map((tag) => tagOf(name, String(tag), acts)))];
    const text = printable([value].flat().map((each) => (typeof each === "object" ? JSON.stringify(each) : each)).join(", "));
    const cut = text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text;
    return [title, html("dd", {}, cut)];
  });
  return html("dl", { class: "fields" }, ...cells);
}

function tagOf(field, tag, acts) {
  const query = `${field}:"${tag.replace(/["\\]/g, "\\$&")}"`;
  return html("a", { class: "tag", href: acts.searchAddress(query) }, printable(tag));
}

function runsOf(executions) {
  if (!executions.count) return "";
  const by = executions.lastPrincipal ? ` by ${printable(executions.lastPrincipal)}` : "";
  const last = executions.last ? `, last run ${new Date(executions.last).toLocaleString()}${by}` : "";
  return html("p", { class: "runs" }, `${counted(executions.count, "execution")}${last}`);
}

