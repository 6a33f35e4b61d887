// Creates elements of SVG and HTML. Names become text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Returns an SVG element. Attributes that are null, undefined or false are omitted. Children are elements or
 * texts. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Returns an HTML element. A function as an attribute listens to the event of that name. */
export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}
