// The form above the diagram. Without scripts, it requests a list from the server; with scripts, each change takes
// effect at once.

import { ASKED, DRAWN } from "./view.js";

/** Sets the form to a view. */
export function showSwitches(form, view) {
  const { entity } = form.elements;
  if (entity.dataset.of !== view.entity || !entity.dataset.means) {
    entity.value = view.entity;
    entity.dataset.means = "";
  }
  entity.dataset.of = view.entity;
  form.elements.direction.value = view.direction;
  const depth = form.elements.depth;
  const text = String(view.depth || "all");
  if (![...depth.options].some((option) => option.value === text)) depth.add(new Option(`${text} hops`, text));
  depth.value = text;
  for (const name of [...ASKED, ...DRAWN]) form.elements[name].checked = view[name];
}

/** Returns the changes to the view that the form requests. */
export function readSwitches(form, view) {
  const changes = { direction: form.elements.direction.value };
  const depth = form.elements.depth.value;
  changes.depth = depth === "all" ? 0 : Number(depth);
  if (changes.depth !== view.depth || changes.direction !== view.direction) {
    Object.assign(changes, { goOn: new Set(), also: new Set() });
  }
  for (const name of [...ASKED, ...DRAWN]) changes[name] = form.elements[name].checked;
  return changes;
}
