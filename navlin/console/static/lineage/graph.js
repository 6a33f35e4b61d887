// The answer of the server as a graph: who stands in whom, what flows where, where there is more.

/** Whatever is shown inside of its parent, and opened only on wish. */
const PARTS = new Set(["FIELD", "SUB_OPERATION"]);
const FLOWS = new Set(["DATA_FLOW", "CONTROL_FLOW"]);
/** Reasons for which one goes on by a diagram of its own. */
const HIDING = new Set(["nodes", "fan_out", "walked"]);

export const keyOf = (edge) => `${edge.type}:${edge.source}:${edge.target}`;

/** The deleted objects through which an edge leads. */
export const deletedOn = (edge) => edge.via.filter((hop) => hop.deleted && !/OPERATION$/.test(hop.type));

/** Whether one may go on from a node in either direction: it is in the index, and the diagram is one of whole objects. */
export const mayTurn = (graph, node) => !graph.byColumns && !node.placeholder;

/** A lineage answer with others of one hop: what they have more, where there is more of that (`apart`), and at which of them
 * there was nothing (`nothing`). */
export function joined(answer, others) {
  const nodes = new Map(answer.nodes.map((node) => [node.id, node]));
  const cuts = [...answer.truncatedAt];
  const nothing = [];
  for (const other of others) {
    const more = other.nodes.filter((node) => !nodes.has(node.id));
    const known = new Set(nodes.keys());
    for (const node of more) nodes.set(node.id, node);
    // Of what the view has anyway it says itself where there is more.
    cuts.push(...other.truncatedAt.filter((cut) => !known.has(cut.id)).map((cut) => ({ ...cut, apart: true })));
    if (!more.length) nothing.push({ id: other.start, direction: other.direction });
  }
  const edges = [answer, ...others].flatMap((each) => each.edges);
  return { ...answer, nodes: [...nodes.values()], edges, truncatedAt: cuts, nothing };
}

/** A lineage answer, with its nodes and edges by their ids. */
export class Graph {
  constructor(answer, columnsAsked, columns = []) {
    this.start = answer.start;
    this.unlinked = answer.unlinked;
    this.columnsAsked = columnsAsked;
    this.nodes = new Map(answer.nodes.map((node) => [node.id, node]));
    // Columns of opened tables that no lineage is known of are there as well, and `idle`.
    for (const each of columns) {
      const box = this.nodes.get(each.parent);
      if (box && !this.nodes.has(each.id)) this.nodes.set(each.id, { ...each, name: `${box.name}.${each.name}`, idle: true });
    }
    this.edges = new Map(answer.edges.map((edge) => [keyOf(edge), edge]));
    this.cuts = answer.truncatedAt;
    this.nothing = answer.nothing ?? [];
    this.byColumns = PARTS.has(this.nodes.get(this.start)?.type);
    this.into = new Map();
    this.outOf = new Map();
    for (const edge of this.edges.values()) {
      push(this.outOf, edge.source, edge);
      push(this.into, edge.target, edge);
    }
    this.holder = this.#holders();
    this.parts = new Map();
    for (const [part, holder] of this.holder) push(this.parts, holder, this.nodes.get(part));
  }

  /** Which node stands in which: columns in tables, executions in their operation, a partition in its table. */
  #holders() {
    const holder = new Map();
    for (const node of this.nodes.values()) {
      const inside = PARTS.has(node.type) || node.type === "PARTITION";
      if (inside && node.parent && this.nodes.has(node.parent)) holder.set(node.id, node.parent);
    }
    for (const edge of this.edges.values()) {
      const runs = edge.type === "INSTANCE_OF" && this.nodes.get(edge.target).type === "OPERATION_EXECUTION";
      if (runs && edge.source !== edge.target && !holder.has(edge.target)) holder.set(edge.target, edge.source);
    }
    // A box in a box is not drawn: what would stand in the inner one stands alone.
    for (const [part, box] of [...holder]) if (holder.has(box)) holder.delete(part);
    return holder;
  }

  /** The id of the box in which a node is drawn: its own, or its holder's. */
  boxOf(id) {
    return this.holder.get(id) ?? id;
  }

  /** The columns of a table, or what an operation's text does for each column of its output. */
  columnsOf(id) {
    return (this.parts.get(id) ?? []).filter((part) => PARTS.has(part.type));
  }

  /** What of a box is shown whether it is opened or not: executions, a partition. */
  standingIn(id) {
    return (this.parts.get(id) ?? []).filter((part) => !PARTS.has(part.type));
  }

  /** The places where a hop, or a diagram that starts there, leads to more; and what else was left out. */
  more() {
    const arrows = new Map();
    const hidden = [];
    const notes = [];
    for (const cut of this.cuts) {
      const known = this.nodes.has(cut.id);
      if (cut.reason === "depth" && known) push(arrows, this.boxOf(cut.id), cut);
      else if (HIDING.has(cut.reason) && known) hidden.push(cut);
      else notes.push(cut);
    }
    return { arrows, hidden, notes };
  }

  /** How many deleted objects, not shown themselves, lie between those that are shown. */
  deletedBetween() {
    const hops = [...this.edges.values()].flatMap(deletedOn);
    return new Set(hops.filter((hop) => this.byColumns || hop.type !== "FIELD").map((hop) => hop.id)).size;
  }

  /** All that data and control flow reach from a node, and all from which they come: `nodes` and `edges` (keys). */
  path(id) {
    const nodes = new Set([id]);
    const edges = new Set();
    for (const [of, far] of [[this.into, "source"], [this.outOf, "target"]]) {
      const seen = new Set([id]);
      const pending = [id];
      while (pending.length) {
        for (const edge of of.get(pending.pop()) ?? []) {
          edges.add(keyOf(edge));
          if (!seen.has(edge[far])) {
            seen.add(edge[far]);
            nodes.add(edge[far]);
            // What an execution was run as, or where a table lies, is no way for data.
            if (FLOWS.has(edge.type)) pending.push(edge[far]);
          }
        }
      }
    }
    return { nodes, edges };
  }
}

function push(map, key, value) {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}
