// Converts Graphviz's JSON to positions in pixels: x to the right, y downward.

import { HEAD_PX, ROW_PX, aboveRows } from "./picture.js";

const INCH_PX = 72;

/** Returns all positions: `width` and `height` of the whole, boxes, hidden nodes, frames of databases, and paths
 * of lines. */
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
    if (each.pos && each.id) {
      const line = named.get(each.id);
      places.lines.push({ line, ...wayOf(each.pos, flip, !line.hidden && line.type !== "LOGICAL_PHYSICAL") });
    }
  }
  const byId = new Map(places.boxes.map((place) => [place.box.id, place]));
  const placed = new Set(places.lines.map(({ line }) => line));
  for (const [name, line] of named) {
    if (!name.startsWith("e") || placed.has(line)) continue;
    const [from, to] = [byId.get(line.from.box), byId.get(line.to.box)];
    // Graphviz finds no path for a few edges, and omits them. A line across other boxes is better than none.
    places.lines.push({ line, ...(line.loop ? loopAt(from) : acrossFrom(from, line.from.row, to, line.to.row)) });
  }
  const ranks = ranksOf(places.boxes);
  places.lines = places.lines.map((each) => plainWay(each.line, byId, places.boxes, ranks) ?? each);
  return places;
}

const NEAREST_PX = 12;
const ARROW_PX = 8;

/** Returns the left and the right side of each column of boxes, by the column's middle. */
function ranksOf(boxes) {
  const ranks = new Map();
  for (const place of boxes) {
    const rank = ranks.get(middleX(place)) ?? { left: Infinity, right: -Infinity };
    rank.left = Math.min(rank.left, place.x);
    rank.right = Math.max(rank.right, place.x + place.width);
    ranks.set(middleX(place), rank);
  }
  return ranks;
}

const middleX = ({ x, width }) => Math.round(x + width / 2);

/** Returns a plain curve from the right side of one box to the left side of the other; null if a box is in its way.
 * Graphviz's splines bulge, so lines cross that need not. */
function plainWay(line, byId, boxes, ranks) {
  if (line.hidden || line.loop || line.beside || line.type === "LOGICAL_PHYSICAL") return null;
  const [from, to] = [byId.get(line.from.box), byId.get(line.to.box)];
  const [x1, y1, x2, y2] = [from.x + from.width, heightAt(from, line.from.row), to.x, heightAt(to, line.to.row)];
  // Next to their boxes, lines are straight: other boxes of the same column may be wider.
  const [left, right] = [ranks.get(middleX(from)).right, Math.min(ranks.get(middleX(to)).left, x2 - ARROW_PX)];
  if (right - left < NEAREST_PX) return null;
  const [top, bottom] = [Math.min(y1, y2), Math.max(y1, y2)];
  const inTheWay = ({ x, y, width, height }) => x < right && x + width > left && y < bottom && y + height > top;
  if (boxes.some(inTheWay)) return null;
  const between = (left + right) / 2;
  const end = x2 - ARROW_PX;
  const points = [[x1, y1], [left, y1], [left, y1], [between, y1], [between, y2], [right, y2], [right, y2], [end, y2], [end, y2]];
  const path = `M${round(x1)} ${round(y1)}C${points.map(([x, y]) => `${round(x)} ${round(y)}`).join(" ")}`;
  return { line, path, middle: [between, (y1 + y2) / 2], tip: [x2, y2], from: [end, y2] };
}

const numbers = (text) => text.split(",").map(Number);
const round = (number) => Math.round(number * 10) / 10;

/** Returns the path of an edge and the tip of its arrow. Graphviz writes ``e,x,y`` for the tip, and then the
 * points of a spline. For an edge within a column, it may write them from the other end, with ``s,x,y``. If there
 * is too little room for an arrow, there are only points. The tip is then the last point, at the left side of a
 * box. */
function wayOf(pos, flip, pointed) {
  let tip = null;
  let turned = null;
  const points = [];
  for (const word of pos.split(";")[0].split(" ")) {
    const [first, second, third] = word.split(",");
    if (first === "e") tip = [Number(second), flip(Number(third))];
    else if (first === "s") turned = [Number(second), flip(Number(third))];
    else points.push([Number(first), flip(Number(second))]);
  }
  const middle = middleOf(points);
  const text = points.map(([x, y]) => `${round(x)} ${round(y)}`);
  const path = `M${text[0]}C${text.slice(1).join(" ")}`;
  const [x, y] = points.at(-1);
  if (tip) return { path, middle, tip, from: [x, y] };
  if (turned) return { path, middle, tip: turned, from: points[0] };
  return pointed ? { path, middle, tip: [x, y], from: [x - 8, y] } : { path, middle, tip: null, from: null };
}

/** Returns the middle of the middle piece of a spline, which has a start, and three points for each piece. */
function middleOf(points) {
  const first = 3 * Math.floor((points.length - 1) / 6);
  const [a, b, c, d] = points.slice(first, first + 4);
  return d ? [0, 1].map((axis) => (a[axis] + 3 * b[axis] + 3 * c[axis] + d[axis]) / 8) : points[0];
}

/** Returns the path of a box that flows into itself: from its right side, over the box, to its left. */
function loopAt({ x, y, width }) {
  const [right, top] = [x + width, y - 18];
  const path = `M${right - 14} ${y}C${right + 4} ${top} ${right - 66} ${top} ${right - 51} ${y - 7}`;
  return { path, middle: [right - 30, top + 4], tip: [right - 47, y], from: [right - 51, y - 7] };
}

function acrossFrom(from, fromRow, to, toRow) {
  const [x1, y1, x2, y2] = [from.x + from.width, heightAt(from, fromRow), to.x, heightAt(to, toRow)];
  const path = `M${round(x1)} ${round(y1)}C${round(x1 + 40)} ${round(y1)} ${round(x2 - 40)} ${round(y2)} ${round(x2 - 8)} ${round(y2)}`;
  return { path, middle: [(x1 + x2) / 2, (y1 + y2) / 2], tip: [x2, y2], from: [x2 - 8, y2] };
}

function heightAt({ box, y }, row) {
  const number = box.rows.findIndex((each) => row && each.id === row);
  return y + (number < 0 ? Math.min(box.height, HEAD_PX) / 2 : aboveRows(box) + ROW_PX * (number + 0.5));
}

/** Returns the path of an arrow's head, a triangle. */
export function headOf({ tip, from }) {
  const [dx, dy] = [tip[0] - from[0], tip[1] - from[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [(dx / length) * 8, (dy / length) * 8];
  const [bx, by] = [tip[0] - ux, tip[1] - uy];
  const side = (sign) => `${round(bx - sign * uy * 0.45)} ${round(by + sign * ux * 0.45)}`;
  return `M${round(tip[0])} ${round(tip[1])}L${side(1)}L${side(-1)}Z`;
}
