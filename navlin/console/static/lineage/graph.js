// The server's response as a graph: nodes, the boxes that contain them, edges, and the places where there is more.

/** Types shown inside of their parent, and only after it is opened. */
const PARTS = new Set(["FIELD", "SUB_OPERATION"]);
const FLOWS = new Set(["DATA_FLOW", "CONTROL_FLOW"]);
/** Reasons for a truncation beyond which a new diagram continues. */
const HIDING = new Set(["nodes", "fan_out", "walked", "time"]);

export const keyOf = (edge) => `${edge.type}:${edge.source}:${edge.target}`;

/** Returns the deleted objects that an edge passes through. */
export const deletedOn = (edge) => edge.via.filter((hop) => hop.deleted && !/OPERATION$/.test(hop.type));

/** Returns the filtered nodes that an edge passes through. */
export const filteredOn = (edge) => edge.via.filter((hop) => hop.filtered);

/** Whether one more hop from a node may be requested in either direction: the node is in the index, and the
 * diagram does not start at a column. */
export const mayTurn = (graph, node) => !graph.byColumns && !node.placeholder;

/** Merges a lineage response with others of one hop: their additional nodes and edges, the places where these are
 * truncated (`apart`), and the nodes at which there was nothing more (`nothing`). */
export function joined(answer, others) {
  const nodes = new Map(answer.nodes.map((node) => [node.id, node]));
  const cuts = [...answer.truncatedAt];
  const nothing = [];
  for (const other of others) {
    const more = other.nodes.filter((node) => !nodes.has(node.id));
    const known = new Set(nodes.keys());
    for (const node of more) nodes.set(node.id, node);
    // For the nodes of the first response, that response itself says where there is more.
    cuts.push(...other.truncatedAt.filter((cut) => !known.has(cut.id)).map((cut) => ({ ...cut, apart: true })));
    if (!more.length) nothing.push({ id: other.start, direction: other.direction });
  }
  const edges = [answer, ...others].flatMap((each) => each.edges);
  return { ...answer, nodes: [...nodes.values()], edges, truncatedAt: cuts, nothing };
}

/** A lineage response, with its nodes and edges by their ids. */
export class Graph {
  constructor(answer, columnsAsked, columns = []) {
    this.start = answer.start;
    this.unlinked = answer.unlinked;
    /** Ids of the nodes at which the lineage starts, if there are several: a database, a directory or a tag. */
    this.starts = answer.starts?.length ? [answer.start, ...answer.starts] : [];
    this.columnsAsked = columnsAsked;
    this.nodes = new Map(answer.nodes.map((node) => [node.id, node]));
    // Columns of opened tables without known lineage are included, too, and marked `idle`.
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

  /** Returns a graph with some of the nodes and edges of this one, or with edges that replace them. */
  reduced(nodes, edges) {
    const answer = { start: this.start, unlinked: this.unlinked, nodes, edges, truncatedAt: this.cuts, nothing: this.nothing };
    answer.starts = this.starts.slice(1);
    const made = new Graph(answer, this.columnsAsked);
    // The start itself may be missing.
    made.byColumns = this.byColumns;
    return made;
  }

  /** Returns node → node whose box contains it: columns in tables, executions in their operation, a partition in
   * its table. */
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
    // Boxes are not nested: the content of an inner box becomes separate boxes.
    for (const [part, box] of [...holder]) if (holder.has(box)) holder.delete(part);
    return holder;
  }

  /** Returns the id of the box in which a node is drawn: its own, or that of its holder. */
  boxOf(id) {
    return this.holder.get(id) ?? id;
  }

  /** Returns the columns of a table, or the sub-operations of an operation. */
  columnsOf(id) {
    return (this.parts.get(id) ?? []).filter((part) => PARTS.has(part.type));
  }

  /** Returns the contents of a box that are shown whether it is open or closed: executions, a partition. */
  standingIn(id) {
    return (this.parts.get(id) ?? []).filter((part) => !PARTS.has(part.type));
  }

  /** Returns the places where one more hop leads to more nodes (`arrows`), those where a new diagram does
   * (`hidden`), and all other truncations (`notes`). */
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

  /** Returns the number of deleted objects that are not shown but lie between shown ones. */
  deletedBetween() {
    const hops = [...this.edges.values()].flatMap(deletedOn);
    return new Set(hops.filter((hop) => this.byColumns || hop.type !== "FIELD").map((hop) => hop.id)).size;
  }

  /** Returns all nodes that data and control flow reach from a node, and all from which they reach it, with the
   * edges: `nodes` and `edges` (keys). */
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
            // Data does not flow onward through relations of an execution to its application, or of a table to its
            // location.
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
