// The diagram as an SVG or PNG file that contains all its fonts, colours and sizes.

const SHAPES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap"];
const TEXTS = ["font-family", "font-size", "font-weight", "text-decoration"];
const DEFAULTS = new Set(["none", "1", "butt", "normal"]);
const MARGIN_PX = 20;
const MOST_PNG_PX = 12_000;

/** Returns the scene as the text of an SVG document. Elements that are dimmed now are dimmed in it. */
export function asSvg(picture, size) {
  const scene = picture.querySelector(".scene");
  const copy = scene.cloneNode(true);
  style(scene, copy);
  copy.removeAttribute("transform");
  for (const each of copy.querySelectorAll("*")) {
    for (const name of ["role", "tabindex", "aria-expanded", "aria-pressed", "aria-disabled"]) each.removeAttribute(name);
  }
  for (const each of copy.querySelectorAll(".touched, .hop, .page-rows, foreignObject")) each.remove();
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const [width, height] = [size.width + 2 * MARGIN_PX, size.height + 2 * MARGIN_PX].map(Math.ceil);
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  root.setAttribute("viewBox", `${-MARGIN_PX} ${-MARGIN_PX} ${width} ${height}`);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x: -MARGIN_PX, y: -MARGIN_PX, width, height })) ground.setAttribute(name, value);
  ground.setAttribute("fill", getComputedStyle(picture).backgroundColor);
  root.append(ground, copy);
  // The serializer escapes markup in names.
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

/** Copies the computed style of each element to attributes of its copy. */
function style(from, to) {
  const computed = getComputedStyle(from);
  const shape = from.tagName !== "g" && from.tagName !== "title";
  const names = [...(shape ? SHAPES : []), ...(from.tagName === "text" ? TEXTS : []), ...(from.tagName === "title" ? [] : ["opacity"])];
  for (const name of names) {
    const value = computed.getPropertyValue(name === "text-decoration" ? "text-decoration-line" : name);
    if (value && (name === "fill" || !DEFAULTS.has(value))) to.setAttribute(name, value);
  }
  for (let number = 0; number < from.children.length; number++) style(from.children[number], to.children[number]);
}

/** Returns the diagram as a PNG in a Blob, with twice the resolution of the screen unless that is too large. */
export async function asPng(picture, size) {
  const { text, width, height } = asSvg(picture, size);
  const scale = Math.min(2, MOST_PNG_PX / width, MOST_PNG_PX / height);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Downloads a Blob as a file. */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
