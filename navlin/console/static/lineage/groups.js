// Groups: many neighbours of one kind at one side of a box are one box at first.

import { counted, inWords, titleOf } from "./names.js";

/** Number of neighbours of one kind at one side that are drawn one by one. */
export const MOST_ALONE = 12;
const FLOW = /_FLOW$/;
const WAYS = ["upstream", "downstream"];

const STARTS = "group:starts";

/** Returns the groups of a graph: `groups` maps the id of a group to the group, and `groupOf` maps the id of a box to the
 * id of its group. The boxes in `apart` (ids) are in no group. */
export function groupsOf(graph, apart) {
  const groups = new Map();
  const groupOf = new Map();
  const near = neighboursOf(graph);
  takeStarts(graph, apart, groups, groupOf);
  // The neighbours of a group may be a group, too, so the list grows.
  const pending = [...graph.nodes.values()].filter((node) => !graph.holder.has(node.id)).map((node) => node.id);
  pending.push(...groups.keys());
  for (const at of pending) {
    if (groupOf.has(at)) continue;
    const members = groups.get(at)?.members.map((node) => node.id) ?? [at];
    const sides = WAYS.map((way) => new Set(members.flatMap((each) => [...(near.get(each)?.[way] ?? [])])));
    WAYS.forEach((way, number) => {
      const other = sides[1 - number];
      const free = [...sides[number]].filter((id) => !apart.has(id) && !groupOf.has(id) && !other.has(id) && !members.includes(id));
      for (const [type, ids] of Map.groupBy(free, (id) => graph.nodes.get(id).type)) {
        if (ids.length <= MOST_ALONE) continue;
        const group = groupAt(graph, at, way, type, ids);
        groups.set(group.id, group);
        for (const id of ids) groupOf.set(id, group.id);
        pending.push(group.id);
      }
    });
  }
  return { groups, groupOf };
}

/** Folds the tables of a database, the paths below a directory, or the entities with a tag into one group. */
function takeStarts(graph, apart, groups, groupOf) {
  const boxes = [...new Set(graph.starts.map((id) => graph.boxOf(id)))].filter((id) => graph.nodes.has(id) && !apart.has(id));
  if (boxes.length < 2) return;
  const group = { ...groupAt(graph, "", "start", "TABLE", boxes), id: STARTS, name: counted(boxes.length, "start") };
  groups.set(STARTS, group);
  for (const id of boxes) groupOf.set(id, STARTS);
}

function groupAt(graph, hub, way, type, ids) {
  const members = ids.map((id) => graph.nodes.get(id)).toSorted((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1));
  const columns = new Set(members.flatMap((node) => graph.columnsOf(node.id)).map((column) => column.id));
  return { id: `group:${hub}:${way}:${type}`, hub, way, type, members, columns, name: counted(members.length, inWords(type)) };
}

/** Returns the ids of the boxes upstream and downstream of each box. */
function neighboursOf(graph) {
  const near = new Map();
  const of = (id) => {
    if (!near.has(id)) near.set(id, { upstream: new Set(), downstream: new Set() });
    return near.get(id);
  };
  for (const edge of graph.edges.values()) {
    const [from, to] = [graph.boxOf(edge.source), graph.boxOf(edge.target)];
    if (!FLOW.test(edge.type) || from === to) continue;
    of(from).downstream.add(to);
    of(to).upstream.add(from);
  }
  return near;
}

/** Returns the node that represents a group in the drawing. */
export function nodeOf(group) {
  return { id: group.id, name: group.name, type: group.type, sourceType: "", group: true, unlinked: 0 };
}

/** Returns the text that screen readers read for a group. */
export function groupAloud(group, graph) {
  if (group.id === STARTS) return `group of ${counted(group.members.length, "node")} at which the diagram starts`;
  const hub = graph.nodes.get(group.hub);
  return `group of ${group.name} ${group.way} of ${hub ? titleOf(hub) : "a group"}`;
}
