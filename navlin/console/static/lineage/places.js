// Graphviz's JSON as places in pixels: x to the right, y downward.

const INCH_PX = 72;

/** Where everything is: `width` and `height` of the whole, boxes, hidden nodes, the frames of databases, the ways of lines. */
export function placesOf(laidOut, named, databases) {
  const [, , width, height] = numbers(laidOut.bb);
  const flip = (y) => height - y;
  const places = { width, height, boxes: [], hidden: [], frames: [], lines: [] };
  for (const each of laidOut.objects ?? []) {
    if (each.name?.startsWith("cluster_")) {
      const [left, bottom, right, top] = numbers(each.bb);
      const name = databases[Number(each.name.slice("cluster_".length))];
      places.frames.push({ name, x: left, y: flip(top), width: right - left, height: top - bottom });
    } else if (each.pos) {
      const [x, y] = numbers(each.pos);
      const [w, h] = [Number(each.width) * INCH_PX, Number(each.height) * INCH_PX];
      const what = named.get(each.name);
      const place = { x: x - w / 2, y: flip(y) - h / 2, width: w, height: h };
      if (each.name.startsWith("h")) places.hidden.push({ hidden: what, ...place });
      else places.boxes.push({ box: what, ...place });
    }
  }
  for (const each of laidOut.edges ?? []) {
    if (each.pos && each.id) places.lines.push({ line: named.get(each.id), ...wayOf(each.pos, flip) });
  }
  const byId = new Map(places.boxes.map((place) => [place.box.id, place]));
  for (const line of named.values()) {
    if (line.loop) places.lines.push({ line, ...loopAt(byId.get(line.from.box)) });
  }
  return places;
}

const numbers = (text) => text.split(",").map(Number);
const round = (number) => Math.round(number * 10) / 10;

/** Graphviz writes ``e,x,y`` for the tip of the arrow, and then the points of a spline. */
function wayOf(pos, flip) {
  let tip = null;
  const points = [];
  for (const word of pos.split(";")[0].split(" ")) {
    const [first, second, third] = word.split(",");
    if (first === "e") tip = [Number(second), flip(Number(third))];
    else if (first !== "s") points.push([Number(first), flip(Number(second))]);
  }
  const text = points.map(([x, y]) => `${round(x)} ${round(y)}`);
  const path = `M${text[0]}C${text.slice(1).join(" ")}`;
  return { path, tip, from: points.at(-1) };
}

/** What flows into itself: a way from its right side over it to its left. */
function loopAt({ x, y, width }) {
  const [right, top] = [x + width, y - 18];
  const path = `M${right - 14} ${y}C${right + 4} ${top} ${right - 66} ${top} ${right - 51} ${y - 7}`;
  return { path, tip: [right - 47, y], from: [right - 51, y - 7] };
}

/** The three corners of an arrow's head. */
export function headOf({ tip, from }) {
  const [dx, dy] = [tip[0] - from[0], tip[1] - from[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [(dx / length) * 8, (dy / length) * 8];
  const [bx, by] = [tip[0] - ux, tip[1] - uy];
  const side = (sign) => `${round(bx - sign * uy * 0.45)} ${round(by + sign * ux * 0.45)}`;
  return `M${round(tip[0])} ${round(tip[1])}L${side(1)}L${side(-1)}Z`;
}
