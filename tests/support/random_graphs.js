// Lays out graphs made by chance in a page of the diagram: arguments are the address of its scripts, a seed, how many, and what
// is called with a list of what was wrong.

const [scripts, first, rounds, done] = arguments;
let state = first;
const chance = () => (state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
const pick = (all) => all[Math.floor(chance() * all.length)];
const NAMES = { TABLE: (n) => `db${n % 3}.t${n}`, VIEW: (n) => `db${n % 3}.v${n}`, DIRECTORY: (n) => `/a/b${n}` };
const KINDS = ["DATA_FLOW", "DATA_FLOW", "DATA_FLOW", "CONTROL_FLOW", "LOGICAL_PHYSICAL", "INSTANCE_OF"];
const TYPES = ["TABLE", "TABLE", "VIEW", "OPERATION", "OPERATION", "DIRECTORY", "OPERATION_EXECUTION"];

function made() {
  const nodes = [];
  const edges = new Map();
  const count = 2 + Math.floor(chance() * 25);
  for (let n = 0; n < count; n++) {
    const type = pick(TYPES);
    const common = { sourceType: "HIVE", deleted: chance() < 0.2, placeholder: chance() < 0.1, parent: null, unlinked: 0 };
    nodes.push({ id: `n${n}`, name: (NAMES[type] ?? ((number) => `op ${number}`))(n), type, ...common });
    for (let c = 0; c < 3 && chance() < 0.8; c++) {
      const part = type === "OPERATION" ? "SUB_OPERATION" : "FIELD";
      nodes.push({ ...common, id: `n${n}c${c}`, name: `x.c${c}`, type: part, parent: `n${n}` });
    }
  }
  const join = (type, source, target) => {
    const flags = { via: [], inferred: false, incomplete: false, parsed: false };
    edges.set(`${type}:${source}:${target}`, { type, source, target, ...flags });
  };
  for (let n = 0; n < count * 2; n++) {
    const [source, target] = [pick(nodes).id, pick(nodes).id];
    join(pick(KINDS), source, target);
    if (chance() < 0.3) join("DATA_FLOW", target, source);
  }
  const truncatedAt = nodes
    .filter(() => chance() < 0.2)
    .map(({ id, name }) => ({ id, name, direction: pick(["upstream", "downstream"]), reason: pick(["depth", "nodes", "walked"]) }));
  return { start: "n0", nodes, edges: [...edges.values()], truncatedAt, unlinked: 0 };
}

async function wrongIn(modules, round) {
  const { Graph, pictureOf, dotOf, layOut, placesOf, draw } = modules;
  const answer = made();
  const graph = new Graph(answer, chance() < 0.5);
  const toggled = new Set(answer.nodes.filter(() => chance() < 0.4).map(({ id }) => id));
  const picture = pictureOf(graph, { databases: chance() < 0.5, toggled }, { name: "13px x", place: "11px x", row: "12px x" });
  const { dot, named } = dotOf(picture);
  const places = placesOf(await layOut(dot), named, picture.databases);
  const scene = await draw(places, graph, () => true);
  const wrong = [];
  const expect = (what, found, wanted) => found === wanted || wrong.push(`round ${round}: ${found} ${what} of ${wanted}`);
  expect("boxes", scene.querySelectorAll(".node").length, picture.boxes.size);
  expect("lines", scene.querySelectorAll("[data-edge]").length, picture.lines.length);
  expect("hidden nodes", scene.querySelectorAll(".hidden-node").length, picture.hidden.length);
  const pointed = picture.lines.filter((line) => line.type !== "LOGICAL_PHYSICAL").length;
  expect("arrows", scene.querySelectorAll("[data-edge]:not(.logical-physical) .tip").length, pointed);
  expect("places", (scene.outerHTML.match(/NaN|undefined/g) ?? []).length, 0);
  const fits = places.boxes.filter(({ box, width, height }) => Math.hypot(width - box.width, height - box.height) < 2).length;
  expect("boxes of their size", fits, picture.boxes.size);
  return wrong;
}

(async () => {
  const files = ["graph", "picture", "dot", "layout", "places", "draw"];
  const modules = Object.assign({}, ...(await Promise.all(files.map((file) => import(`${scripts}/${file}.js`)))));
  const wrong = [];
  for (let round = 0; round < rounds; round++) wrong.push(...(await wrongIn(modules, round)));
  done(wrong);
})().catch((error) => done([String(error)]));
