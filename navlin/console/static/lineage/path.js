// The pinned path of a column: what it passes, and its steps with statement and expression.

import { askTable } from "./ask.js";
import { breakable, counted, engineIn, printable, titleOf } from "./names.js";
import { keyOf } from "./graph.js";
import { tableOf } from "./view.js";
import { html } from "./svg.js";

const LISTED = 200;

/** Shows the pinned path of a node in `panel`, or nothing. `graph` is the graph as drawn, before all but the path is
 * hidden. */
export function showPath(panel, graph, view, acts) {
  const node = graph?.nodes.get(view.pinned);
  panel.hidden = !node;
  if (!node) {
    panel.replaceChildren();
    return;
  }
  const { nodes, edges } = graph.path(node.id);
  const steps = stepsOf(graph, node.id, edges);
  const boxes = new Set([...nodes].map((each) => graph.boxOf(each)));
  const more = graph.cuts.some((cut) => cut.reason === "depth" && (nodes.has(cut.id) || boxes.has(cut.id)));
  const only = html("input", { type: "checkbox", id: "only-path", change: () => acts.onlyPath(only.checked) });
  only.checked = view.only;
  const list = html("ol", { class: "steps", "aria-label": "Steps of the path" });
  panel.replaceChildren(
    html("h2", {}, "Path of ", ...breakable(titleOf(node))),
    html("p", { class: "dim" }, `${counted(steps.length, "step")} through ${counted(boxes.size, "node")}`),
    html(
      "p",
      { class: "acts" },
      html("label", {}, only, " Only this path"),
      html("button", { type: "button", class: "quiet", id: "unpin", click: () => acts.pin("") }, "Unpin"),
      more ? html("button", { type: "button", class: "quiet", id: "whole-path", click: () => acts.change({ depth: 0 }) }, "To its ends") : null,
    ),
    list,
  );
  fillSteps(list, steps, graph, view, acts);
}

/** Returns the edges of a path in the order of the flow: the farthest upstream first. */
function stepsOf(graph, id, edges) {
  const far = new Map([[id, 0]]);
  for (const [of, end, sign] of [[graph.into, "source", -1], [graph.outOf, "target", 1]]) {
    const pending = [id];
    for (const at of pending) {
      for (const edge of of.get(at) ?? []) {
        if (!edges.has(keyOf(edge)) || far.has(edge[end])) continue;
        far.set(edge[end], far.get(at) + sign);
        pending.push(edge[end]);
      }
    }
  }
  const place = (edge) => Math.min(far.get(edge.source) ?? 0, far.get(edge.target) ?? 0);
  const text = (edge) => titleOf(graph.nodes.get(edge.source)) + titleOf(graph.nodes.get(edge.target));
  const found = [...edges].map((key) => graph.edges.get(key)).filter((edge) => edge.type.endsWith("_FLOW"));
  return found.toSorted((one, other) => place(one) - place(other) || (text(one) < text(other) ? -1 : 1));
}

async function fillSteps(list, steps, graph, view, acts) {
  const items = steps.slice(0, LISTED).map((edge) => {
    const about = html("div", { class: "about-step" });
    sayHops(about, edge, acts);
    return { edge, about };
  });
  list.replaceChildren(
    ...items.map(({ edge, about }) => html("li", { "data-step": keyOf(edge) }, ...endsOf(edge, graph, acts), about)),
    ...(steps.length > LISTED ? [html("li", { class: "dim" }, `and ${steps.length - LISTED} more: save the table`)] : []),
  );
  try {
    const rows = await askTable(tableOf(view));
    const byEnds = new Map(rows.filter((row) => row.kind === "edge").map((row) => [`${row.type} ${row.fromId} ${row.toId}`, row]));
    for (const { edge, about } of items) {
      const row = byEnds.get(`${edge.type === "CONTROL_FLOW" ? "control" : "data"} ${edge.source} ${edge.target}`);
      if (row) sayRow(about, row, acts);
    }
  } catch (error) {
    list.append(html("li", { class: "problem" }, `Statements and expressions: ${printable(error.message)}`));
  }
}

function endsOf(edge, graph, acts) {
  const button = (id) => {
    const node = graph.nodes.get(id);
    return html("button", { type: "button", class: "to-node", "data-to": id, click: () => acts.reveal(node) }, ...breakable(titleOf(node)));
  };
  return [button(edge.source), edge.type === "CONTROL_FLOW" ? " decides " : " → ", button(edge.target)];
}

/** Says what an edge passes through, from the lineage itself. */
function sayHops(about, edge, acts) {
  const filtered = edge.via.filter((hop) => hop.filtered).length;
  if (filtered) about.append(html("p", { class: "dim" }, `through ${counted(filtered, "filtered node")}`));
  const statements = edge.via.filter((hop) => /OPERATION$/.test(hop.type) && !hop.placeholder);
  if (statements.length) about.append(html("p", {}, "by ", statementLink(statements.at(-1).parent || statements.at(-1).id, titleOf(statements.at(-1)), acts)));
}

/** Says the statement and the expression of an edge, as in the row of the table. */
function sayRow(about, row, acts) {
  const certainty = row.certainty === "recorded" ? "" : `, ${row.certainty}`;
  const engine = row.engine ? ` (${engineIn(row.engine)}${certainty})` : certainty;
  const statement = row.statementId ? ["by ", statementLink(row.statementId, row.statement, acts), engine] : [certainty.replace(", ", "")];
  about.replaceChildren(
    html("p", {}, ...statement),
    row.expression ? html("pre", { class: "query", tabindex: 0, "aria-label": "Expression" }, printable(row.expression)) : "",
    row.statementText ? html("details", {}, html("summary", {}, "Statement"), html("pre", { class: "query", tabindex: 0 }, printable(row.statementText))) : "",
  );
}

function statementLink(id, title, acts) {
  return html("a", { href: acts.detailsAddress(id) }, ...breakable(printable(title)));
}
