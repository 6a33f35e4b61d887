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

/** Returns the JSON of a response. Throws a `Problem`, or an AbortError if `signal` aborts the request. */
export async function ask(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) query.append(name, each);
  }
  // The address is absolute. If the page's own address contains a password, browsers refuse a relative one.
  const address = `${location.origin}${document.body.dataset.base ?? ""}${ROOT}${path}?${query}`;
  let response;
  try {
    response = await fetch(address, { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "navlin does not answer: it is not running, or cannot be reached from here");
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Problem(response.status, body?.message ?? `navlin answered with ${response.status}`, body ?? {});
  }
  return body;
}

const MOST_COLUMNS = 1000;

/** Returns all columns of a table, in no particular order; an empty list for an entity without columns. */
export async function askColumns(id, signal) {
  const query = `type:FIELD AND firstClassParentId:"${id.replace(/["\\]/g, "\\$&")}"`;
  const { results } = await ask("/search", { query, limit: MOST_COLUMNS }, signal);
  return results.map((each) => ({
    id: each.identity,
    name: each.originalName,
    type: each.type,
    sourceType: each.sourceType,
    sourceId: each.sourceId,
    deleted: Boolean(each.deleted),
    parent: id,
    unlinked: 0,
    columnIndex: indexOf(each),
  }));
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
