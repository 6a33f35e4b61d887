// The focus stays where it was when the diagram is drawn again.

import { elementOf, stopAt } from "./keys.js";

/** Returns the focused element of the diagram, so that it can be focused again after a new drawing; null if the focus is
 * elsewhere. */
export function focusedThing(picture) {
  const element = document.activeElement;
  if (!picture.contains(element) || element === picture) return null;
  const { id, toggle, hop, of, filter } = element.dataset;
  return { id: id ?? toggle ?? hop ?? of, filter, caret: element.selectionStart };
}

/** Focuses the same element in a new drawing, or else its box, or else the start. */
export function restoreFocus(picture, was, boxFor, start) {
  if (!was) return;
  const field = was.filter && picture.querySelector(`[data-filter="${CSS.escape(was.filter)}"]`);
  if (field) {
    field.focus({ preventScroll: true });
    field.setSelectionRange(was.caret, was.caret);
    return;
  }
  const id = was.filter ?? was.id ?? start;
  const element = elementOf(picture, id) ?? elementOf(picture, boxFor(id)) ?? elementOf(picture, start);
  if (element) stopAt(picture, element, true);
}
