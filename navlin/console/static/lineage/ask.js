// Requests to navlin's own API.

const ROOT = "/api/navlin/v1";

/** An error response: its message, and the other fields of the response in `more` (`suggestions`, `candidates`). */
export class Problem extends Error {
  constructor(status, message, more = {}) {
    super(message);
    this.status = status;
    this.more = more;
  }
}

/** Returns the address of a request. It is absolute: if the page's own address contains a password, browsers refuse a
 * relative one. */
export function addressOf(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) query.append(name, each);
  }
  return `${location.origin}${document.body.dataset.base ?? ""}${ROOT}${path}?${query}`;
}

/** Returns the JSON of a response. Throws a `Problem`, or an AbortError if `signal` aborts the request. */
export async function ask(path, parameters, signal) {
  const response = await answered(path, parameters, signal);
  return response.json().catch(() => null);
}

async function answered(path, parameters, signal) {
  let response;
  try {
    response = await fetch(addressOf(path, parameters), { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "navlin does not answer: it is not running, or cannot be reached from here");
  }
  if (!response.ok) {
    const body = await response.json().catch(() => null);
    throw new Problem(response.status, body?.message ?? `navlin answered with ${response.status}`, body ?? {});
  }
  return response;
}

let table = { asked: "", rows: null };

/** Returns the rows of the lineage as a table (`navlin.query.lineage_table`). The last answer is kept. */
export function askTable(parameters) {
  const asked = JSON.stringify(parameters);
  if (table.asked !== asked) {
    const rows = answered("/lineage", { ...parameters, jsonl: true })
      .then((response) => response.text())
      .then((text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
    table = { asked, rows };
    rows.catch(() => (table = { asked: "", rows: null }));
  }
  return table.rows;
}

const MOST_COLUMNS = 10_000;
const TABLES_A_QUERY = 25;

/** Returns all columns of some tables, in no particular order. Entities without columns have none. */
export async function askColumns(ids, signal) {
  return columnsAmong(ids, "", MOST_COLUMNS, signal);
}

/** Returns the columns of some tables whose names contain a text, in no particular order. */
export async function askColumnsNamed(ids, text, signal) {
  const escaped = text.replace(/[^\p{L}\p{N}_]/gu, "?");
  const found = await columnsAmong(ids, ` AND originalName:*${escaped}*`, MOST_FOUND, signal);
  return found.filter((each) => each.name.toLowerCase().includes(text.toLowerCase()));
}

const MOST_FOUND = 200;

async function columnsAmong(ids, further, limit, signal) {
  const batches = [];
  for (let first = 0; first < ids.length; first += TABLES_A_QUERY) batches.push(ids.slice(first, first + TABLES_A_QUERY));
  const asked = batches.map((batch) => {
    const tables = batch.map((id) => `"${id.replace(/["\\]/g, "\\$&")}"`).join(" OR ");
    return ask("/search", { query: `type:FIELD AND firstClassParentId:(${tables})${further}`, limit }, signal);
  });
  return (await Promise.all(asked)).flatMap(({ results }) => results.map(columnOf));
}

function columnOf(found) {
  return {
    id: found.identity,
    name: found.originalName,
    type: found.type,
    sourceType: found.sourceType,
    sourceId: found.sourceId,
    deleted: Boolean(found.deleted),
    parent: found.firstClassParentId,
    unlinked: 0,
    columnIndex: indexOf(found),
  };
}

function indexOf(column) {
  const index = Number.parseInt([column.tp_columnIndex].flat()[0] ?? "", 10);
  return Number.isNaN(index) ? null : index;
}

const shown = new Map();

/** Returns all fields of one entity. Each entity is requested only once. */
export function askShown(id) {
  if (!shown.has(id)) {
    const answer = ask("/show", { entity: id });
    answer.catch(() => shown.delete(id));
    shown.set(id, answer);
  }
  return shown.get(id);
}
