// Runs Graphviz in a worker, so that it does not block the page.

import { Graphviz } from "../../third_party/wasm-graphviz/index.js";

const ready = Graphviz.load();

self.onmessage = async ({ data }) => {
  try {
    const graphviz = await ready;
    const began = performance.now();
    const laidOut = graphviz.layout(data.dot, "json0", "dot");
    self.postMessage({ number: data.number, laidOut, ms: performance.now() - began });
  } catch (error) {
    self.postMessage({ number: data.number, failed: String(error?.message ?? error) });
  }
};
