// Layouts by a worker. A new layout cancels the previous one, and each has a time limit.

const PATIENCE_MS = 60_000;

/** Thrown for a layout that a later one cancelled. */
export class Cancelled extends Error {}

let worker = null;
let running = null;
let number = 0;

function started() {
  worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => {
    if (running?.number !== data.number) return;
    // After a failure, Graphviz may be in an invalid state, so the next layout gets a new worker.
    if (data.failed) stopped(new Error(`Graphviz could not lay it out: ${data.failed}`));
    else ended().resolve(JSON.parse(data.laidOut));
  };
  worker.onerror = (event) => {
    event.preventDefault?.();
    stopped(new Error(`the layout did not start: ${event.message || "its script was refused"}`));
  };
  return worker;
}

function ended() {
  const was = running;
  clearTimeout(was.timer);
  running = null;
  return was;
}

function stopped(error) {
  worker?.terminate();
  worker = null;
  if (running) ended().reject(error);
}

/** Loads Graphviz while the first request is still being answered. */
export function warmUp() {
  worker ??= started();
}

/** Returns Graphviz's layout in its JSON format. */
export function layOut(dot) {
  if (running) stopped(new Cancelled("a newer layout was requested"));
  worker ??= started();
  number += 1;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => stopped(new Error("the layout took more than a minute")), PATIENCE_MS);
    running = { number, resolve, reject, timer };
    worker.postMessage({ number, dot });
  });
}
