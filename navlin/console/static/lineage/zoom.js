// Panning and zooming with the wheel, by dragging, and with two fingers. d3-zoom does the same with nine packages
// that import each other by names. Browsers resolve these only with an import map in the page, which the page's
// policy forbids.

const LEAST = 0.05;
const MOST = 3;
const MARGIN_PX = 24;
/** A small diagram is enlarged at most this much to fill the screen. */
const MOST_FITTED = 2;
/** Below this scale, names cannot be read, so a node that is looked for is shown larger. */
const READABLE = 0.7;
/** A picture of at most this width is that of a telephone, which has no room for many readable nodes. */
const NARROW_PX = 480;
/** Below this scale, a name is at most 4 pixels high. Drawing thousands of them makes each frame slow. */
const TOO_SMALL = 0.3;
const MOVED_PX = 4;
const ROWS_A_TURN = 3;

/** Pans and zooms the scene of `picture`, an SVG element. */
export class Zoom {
  constructor(picture, tools) {
    this.picture = picture;
    this.tools = tools;
    this.scene = null;
    this.at = { x: 0, y: 0, k: 1 };
    this.size = { width: 1, height: 1 };
    this.moved = false;
    /** Whether the whole scene is shown, as by `fit`. It stays so if the size of the picture changes. */
    this.fitted = false;
    this.least = LEAST;
    this.fingers = new Map();
    /** Called after each change. */
    this.changed = () => {};
    /** Scrolls the rows at an element by a number of rows. Returns whether there are any. */
    this.scrollRows = () => false;
    new ResizeObserver(() => this.fitted && this.fit()).observe(picture);
    picture.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    picture.addEventListener("pointerdown", (event) => this.#down(event));
    picture.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      picture.addEventListener(name, (event) => this.fingers.delete(event.pointerId));
    }
    // The end of a drag over a node is not a click on it.
    picture.addEventListener("click", (event) => this.moved && event.stopPropagation(), { capture: true });
  }

  /** Replaces the scene by a new one with this size in pixels. */
  show(scene, size) {
    this.scene?.remove();
    this.scene = scene;
    this.size = size;
    if (scene.parentNode !== this.picture) this.picture.append(scene);
    scene.classList.remove("arriving");
    this.#apply();
  }

  /** Returns the width and the height of the picture above the buttons. */
  #room() {
    const { width, height } = this.picture.getBoundingClientRect();
    return [width, height - this.tools.getBoundingClientRect().height];
  }

  /** Returns the scale at which a part of the scene just fits above the buttons. */
  #fitting(part) {
    const [width, height] = this.#room();
    return Math.min((width - 2 * MARGIN_PX) / part.width, (height - 2 * MARGIN_PX) / part.height);
  }

  /** Shows the whole scene, above the buttons. */
  fit() {
    const [width, height] = this.#room();
    const k = Math.min(this.#fitting(this.size), MOST_FITTED);
    this.least = Math.min(LEAST, k);
    this.#to({ x: (width - this.size.width * k) / 2, y: (height - this.size.height * k) / 2, k });
    this.fitted = true;
  }

  /** Shows the whole scene. If its names are then too small to be read on a telephone, shows the surroundings of `start`. */
  open(start) {
    this.fit();
    if (start && this.at.k < READABLE && this.#room()[0] <= NARROW_PX) this.centreOn(start);
  }

  /** Moves, and zooms out if it must, just enough to make a part of the scene visible. */
  include(part) {
    const k = Math.min(this.at.k, this.#fitting(part));
    const [x, y] = [
      [this.at.x, part.x, part.width],
      [this.at.y, part.y, part.height],
    ].map(([at, low, length], axis) => {
      const least = MARGIN_PX - low * k;
      const most = this.#room()[axis] - MARGIN_PX - (low + length) * k;
      return Math.max(least, Math.min(most, at));
    });
    this.least = Math.min(this.least, k);
    this.#to({ x, y, k });
  }

  /** Zooms around the middle of the diagram. */
  by(factor) {
    const { width, height } = this.picture.getBoundingClientRect();
    this.#around(width / 2, height / 2, factor);
  }

  /** Moves by pixels of the screen. */
  pan(dx, dy) {
    this.#to({ ...this.at, x: this.at.x + dx, y: this.at.y + dy });
  }

  /** Moves just enough to make an element visible. */
  reveal(element) {
    const outer = this.picture.getBoundingClientRect();
    const inner = element.getBoundingClientRect();
    const shift = (low, high, least, most) =>
      low < least + MARGIN_PX ? least + MARGIN_PX - low : high > most - MARGIN_PX ? most - MARGIN_PX - high : 0;
    const dx = shift(inner.left, inner.right, outer.left, outer.right);
    const dy = shift(inner.top, inner.bottom, outer.top, outer.bottom);
    if (dx || dy) this.pan(dx, dy);
  }

  /** Moves an element to the middle, large enough to be read. */
  centreOn(element) {
    const outer = this.picture.getBoundingClientRect();
    const inner = element.getBoundingClientRect();
    const { x, y, k } = this.at;
    const middle = [(inner.left + inner.width / 2 - outer.left - x) / k, (inner.top + inner.height / 2 - outer.top - y) / k];
    this.centre(...middle, Math.max(k, READABLE));
  }

  /** Moves a point of the scene to the middle. */
  centre(x, y, k = this.at.k) {
    const { width, height } = this.picture.getBoundingClientRect();
    this.#to({ x: width / 2 - x * k, y: height / 2 - y * k, k });
  }

  /** Returns the position on the screen of a point in the scene. With `keep`, a node stays there while everything
   * around it changes. */
  onScreen({ x, y }) {
    return { x: x * this.at.k + this.at.x, y: y * this.at.k + this.at.y };
  }

  keep(place, screen) {
    this.#to({ ...this.at, x: screen.x - place.x * this.at.k, y: screen.y - place.y * this.at.k });
  }

  #around(x, y, factor) {
    const k = Math.min(MOST, Math.max(this.least, this.at.k * factor));
    const by = k / this.at.k;
    this.#to({ x: x - (x - this.at.x) * by, y: y - (y - this.at.y) * by, k });
  }

  #to(at) {
    this.at = at;
    this.fitted = false;
    this.#apply();
  }

  #apply() {
    const { x, y, k } = this.at;
    this.scene?.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    this.scene?.classList.toggle("far", k < TOO_SMALL);
    this.changed();
  }

  #wheel(event) {
    event.preventDefault();
    if (!event.ctrlKey && this.scrollRows(event.target, Math.sign(event.deltaY) * ROWS_A_TURN)) return;
    const { left, top } = this.picture.getBoundingClientRect();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    const factor = Math.exp(Math.max(-120, Math.min(120, -event.deltaY * lines)) / 400);
    this.#around(event.clientX - left, event.clientY - top, factor);
  }

  #down(event) {
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.moved = false;
    this.travelled = 0;
  }

  #move(event) {
    const was = this.fingers.get(event.pointerId);
    if (!was) return;
    if (!event.buttons) {
      this.fingers.delete(event.pointerId);
      return;
    }
    const now = { x: event.clientX, y: event.clientY };
    this.travelled += Math.hypot(now.x - was.x, now.y - was.y);
    const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.fingers.set(event.pointerId, now);
    if (this.travelled < MOVED_PX) return;
    if (!this.moved) this.picture.setPointerCapture(event.pointerId);
    this.moved = true;
    if (other) {
      const { left, top } = this.picture.getBoundingClientRect();
      const spread = (place) => Math.hypot(place.x - other.x, place.y - other.y) || 1;
      this.#around((now.x + other.x) / 2 - left, (now.y + other.y) / 2 - top, spread(now) / spread(was));
    } else {
      this.pan(now.x - was.x, now.y - was.y);
    }
  }
}
