// Boxes with many columns: some rows are visible at a time, others after scrolling or filtering.

import { calledIn, counted } from "./names.js";
import { html, svg } from "./svg.js";

/** Number of rows that a long box shows at a time. */
export const WINDOW_ROWS = 24;
const FILTER_PX = { height: 20, margin: 3, buttons: 46 };

/** The scrolled position and the filter of each long box, by its id. */
export class Scrolled {
  constructor() {
    this.at = new Map();
    this.selected = "";
    this.lit = new Set();
  }

  /** Makes boxes that were not scrolled yet begin at the selected row, or else at a lit one (ids). */
  beginAt(selected, lit) {
    this.selected = selected;
    this.lit = lit;
  }

  /** Returns the visible rows of a box (`rows`), the number of the first, and the numbers of rows in all (`every`) and of those
   * that fit the filter (`fitting`). */
  frameOf(id, every) {
    const { first: given, text } = this.at.get(id) ?? { first: null, text: "" };
    const folded = text.toLowerCase();
    const fitting = folded ? every.filter((part) => calledIn(part).own.toLowerCase().includes(folded)) : every;
    const chosen = fitting.findIndex((part) => part.id === this.selected);
    const begin = chosen < 0 ? fitting.findIndex((part) => this.lit.has(part.id)) : chosen;
    const first = clamped(given ?? begin - 2, fitting.length);
    return { rows: fitting.slice(first, first + WINDOW_ROWS), first, fitting: fitting.length, every: every.length, text };
  }

  /** Scrolls a box. Returns whether its rows have changed. */
  scroll(box, by) {
    const first = clamped(box.frame.first + by, box.frame.fitting);
    if (first === box.frame.first) return false;
    this.at.set(box.id, { first, text: box.frame.text });
    return true;
  }

  /** Shows the rows whose names contain a text. */
  filter(id, text) {
    this.at.set(id, { first: 0, text });
  }

  /** Forgets how a box was scrolled and filtered. */
  forget(id) {
    this.at.delete(id);
  }
}

const clamped = (first, count) => Math.max(0, Math.min(first, count - WINDOW_ROWS));

/** Returns the filter of a long box, its buttons, and the bar that shows the position. */
export function controlsOf(box, headPx, rowPx) {
  const { frame, width } = box;
  const own = calledIn(box.node).own;
  const label = `filter the ${counted(frame.every, "column")} of ${own}`;
  const field = html("input", {
    class: "box-filter",
    type: "search",
    value: frame.text,
    placeholder: frame.text ? "" : `Filter ${counted(frame.every, "column")}`,
    "aria-label": label,
    "data-filter": box.id,
    tabindex: -1,
    autocomplete: "off",
    spellcheck: "false",
  });
  const place = svg("foreignObject", {
    x: 6,
    y: headPx + 1,
    width: width - FILTER_PX.buttons - 12,
    height: FILTER_PX.height + 2 * FILTER_PX.margin - 3,
  });
  place.append(field);
  const last = Math.min(frame.first + WINDOW_ROWS, frame.fitting);
  const area = rowPx * WINDOW_ROWS;
  const share = Math.min(1, WINDOW_ROWS / Math.max(frame.fitting, 1));
  const bar = {
    class: "scroll-bar",
    x: width - 8,
    y: headPx + rowPx + 2 + (area - 4) * (frame.first / Math.max(frame.fitting, 1)),
    width: 4,
    height: Math.max(10, (area - 4) * share),
    rx: 2,
  };
  return [
    place,
    pageButton(box, -1, width - FILTER_PX.buttons, headPx + 2, `previous columns of ${own}`, frame.first > 0),
    pageButton(box, 1, width - FILTER_PX.buttons + 22, headPx + 2, `next columns of ${own}`, last < frame.fitting),
    share < 1 ? svg("rect", bar) : null,
    frame.fitting ? null : svg("text", { class: "no-columns", x: 12, y: headPx + rowPx + 16 }, "no column has this in its name"),
  ];
}

function pageButton(box, sign, x, y, words, enabled) {
  return svg(
    "g",
    {
      class: "page-rows",
      role: "button",
      tabindex: -1,
      "data-page": sign,
      "data-of": box.id,
      "aria-label": words,
      "aria-disabled": enabled ? null : "true",
      transform: `translate(${x} ${y})`,
    },
    svg("title", {}, words),
    svg("rect", { class: "ground", width: 20, height: 20, rx: 3 }),
    svg("path", { class: "sign", d: sign < 0 ? "M5 12L10 7L15 12" : "M5 8L10 13L15 8" }),
  );
}
