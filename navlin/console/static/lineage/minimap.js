// The minimap: all boxes, and a frame around the visible part. Its content repeats the diagram, so screen readers skip it.

import { svg } from "./svg.js";

const SIZE_PX = { width: 180, height: 110 };

/** Draws the minimap, and moves the diagram when it is pressed. */
export class Minimap {
  constructor(place, zoom) {
    this.place = place;
    this.zoom = zoom;
    this.frame = svg("rect", { class: "visible-part" });
    this.scale = 1;
    zoom.changed = () => this.follow();
    place.addEventListener("pointerdown", (event) => {
      place.setPointerCapture(event.pointerId);
      this.#move(event);
    });
    place.addEventListener("pointermove", (event) => event.buttons && this.#move(event));
  }

  /** Draws the boxes of a picture. */
  show(places) {
    this.scale = Math.min(SIZE_PX.width / places.width, SIZE_PX.height / places.height, 1);
    const [width, height] = [places.width * this.scale, places.height * this.scale];
    this.place.setAttribute("width", Math.max(width, 8));
    this.place.setAttribute("height", Math.max(height, 8));
    const boxes = places.boxes.map(({ box, x, y }) => {
      const [w, h] = [box.width, box.height].map((each) => Math.max(1, each * this.scale));
      return svg("rect", { class: "small-box", "data-small": box.id, x: x * this.scale, y: y * this.scale, width: w, height: h });
    });
    this.place.replaceChildren(...boxes, this.frame);
    this.follow();
  }

  /** Lights the boxes of a path, given by their ids; none if `lit` is null. */
  light(lit) {
    for (const each of this.place.querySelectorAll(".small-box")) each.classList.toggle("lit", Boolean(lit?.has(each.dataset.small)));
  }

  /** Moves the frame to the visible part. The minimap is hidden while all of the diagram is visible. */
  follow() {
    const { x, y, k } = this.zoom.at;
    const { width, height } = this.zoom.picture.getBoundingClientRect();
    const { size } = this.zoom;
    const whole = x >= 0 && y >= 0 && x + size.width * k <= width && y + size.height * k <= height;
    this.place.classList.toggle("unneeded", whole);
    const shown = { x: -x / k, y: -y / k, width: width / k, height: height / k };
    for (const [name, value] of Object.entries(shown)) this.frame.setAttribute(name, (value * this.scale).toFixed(1));
  }

  #move(event) {
    const { left, top } = this.place.getBoundingClientRect();
    this.zoom.centre((event.clientX - left) / this.scale, (event.clientY - top) / this.scale);
  }
}
