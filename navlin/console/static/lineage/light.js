// Highlights the whole path of a column or a node, and dims everything else.

/** Highlights the path of the node with this id, and returns the ids of its boxes. `boxFor` maps the id of a node to that
 * of its box in the drawing. */
export function lightPath(picture, lines, graph, id, boxFor) {
  const { nodes, edges } = graph.path(id);
  const boxes = new Set([...nodes].map(boxFor));
  light(picture, lines, nodes, boxes, edges);
  return boxes;
}

/** Highlights one edge and its ends. */
export function lightEdge(picture, lines, line) {
  const ends = new Set([line.from.row || line.from.box, line.to.row || line.to.box]);
  light(picture, lines, ends, new Set([line.from.box, line.to.box]), new Set([line.key, ...line.members]));
}

/** Ends the highlighting. */
export function unlight(picture) {
  picture.classList.remove("dimming");
}

function light(picture, lines, nodes, boxes, edges) {
  for (const box of picture.querySelectorAll("[data-box]")) box.classList.toggle("lit", boxes.has(box.dataset.box));
  for (const row of picture.querySelectorAll(".row")) row.classList.toggle("lit", nodes.has(row.dataset.id));
  for (const edge of picture.querySelectorAll("[data-edge]")) {
    const line = lines.get(edge.dataset.edge);
    edge.classList.toggle("lit", Boolean(line?.members.some((member) => edges.has(member))));
  }
  picture.classList.add("dimming");
}

