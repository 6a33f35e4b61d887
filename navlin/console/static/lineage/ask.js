// Questions to navlin's own API.

const ROOT = "/api/navlin/v1";

/** An answer that is an error: a sentence, and what the server says beside it (`suggestions`, `candidates`). */
export class Problem extends Error {
  constructor(status, message, more = {}) {
    super(message);
    this.status = status;
    this.more = more;
  }
}

/** The JSON of an answer. Throws `Problem`, or an AbortError when `signal` says so. */
export async function ask(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) query.append(name, each);
  }
  // Not by a relative address: where a password stood in the page's own, a browser refuses it.
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

/** All columns of a table, in no order; none of what has no columns. */
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

/** Everything of one entity; asked once. */
export function askShown(id) {
  if (!shown.has(id)) {
    const answer = ask("/show", { entity: id });
    answer.catch(() => shown.delete(id));
    shown.set(id, answer);
  }
  return shown.get(id);
}
