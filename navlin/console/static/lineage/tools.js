// The buttons of the diagram: zoom, fit, full screen, find, and saving as a picture or as a table.

import { asPng, asSvg, download } from "./save.js";

/** Makes the buttons work. `now()` returns the places of the picture, a file name, and `table`, which returns the
 * address of the lineage as a table in a form (csv, jsonl). */
export function listenToTools(page, picture, zoom, find, now) {
  const acts = {
    nearer: () => zoom.by(1.25),
    farther: () => zoom.by(0.8),
    "fit-all": () => zoom.fit(),
    "full-screen": () => toggleFull(page, zoom),
    "open-find": () => find.open(),
    "save-svg": () => download(new Blob([asSvg(picture, now().places).text], { type: "image/svg+xml" }), `${now().name}.svg`),
    "save-png": async () => download(await asPng(picture, now().places), `${now().name}.png`),
  };
  for (const [id, act] of Object.entries(acts)) document.getElementById(id).addEventListener("click", act);
  for (const form of ["csv", "jsonl"]) {
    const link = document.getElementById(`save-${form}`);
    // The address of a link is made when it is used, because the view changes.
    for (const event of ["pointerdown", "focus", "click"]) {
      link.addEventListener(event, () => {
        const { table, name } = now();
        link.href = table(form);
        link.download = `${name}.${form}`;
      });
    }
  }
  document.addEventListener("keydown", (event) => onKey(event, page, zoom, find));
  document.addEventListener("fullscreenchange", () => document.fullscreenElement || setFull(page, zoom, false));
}

function onKey(event, page, zoom, find) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  if (event.key === "/") find.open();
  else if (event.key === "f") toggleFull(page, zoom);
  else if (event.key === "Escape" && page.classList.contains("full")) setFull(page, zoom, false);
  else return;
  event.preventDefault();
}

/** Fills the window with the diagram, and the whole screen if the browser can. */
function toggleFull(page, zoom) {
  const full = !page.classList.contains("full");
  setFull(page, zoom, full);
  // Some telephones have no full screen for elements; the window is filled there, too.
  if (full) page.requestFullscreen?.().catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
}

function setFull(page, zoom, full) {
  if (page.classList.contains("full") === full) return;
  page.classList.toggle("full", full);
  const button = document.getElementById("full-screen");
  button.setAttribute("aria-pressed", String(full));
  // The size is known after the browser has laid out the page again.
  requestAnimationFrame(() => requestAnimationFrame(() => zoom.fit()));
}
