// Names for display: no character reverses the direction of the text, and long names are cut in the middle.

const UNPRINTED = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const KEPT = /[\n\t]/;

/** Returns a text with U+FFFD in place of each unprintable character, such as controls and marks of text
 * direction. */
export function printable(text) {
  return String(text).replace(UNPRINTED, (each) => (KEPT.test(each) ? each : "\uFFFD"));
}

/** Returns a name on one line. */
export function oneLine(text) {
  return printable(text).replace(/\s+/g, " ").trim();
}

const PATHS = new Set(["FILE", "DIRECTORY", "S3BUCKET"]);
const TABLES = new Set(["TABLE", "VIEW"]);

/** Returns the name of a node, or of an entity on an edge, for display. The name of a statement says what it
 * writes. */
export function titleOf(node) {
  return oneLine(node.label || node.name) || node.id;
}

/** Returns a name as children of an element, with line breaks allowed after dots, slashes, underscores and opening
 * parentheses. */
export function breakable(name) {
  return name.split(/(?<=[./_(])(?=[^./_(])/).flatMap((part, number) => (number ? [document.createElement("wbr"), part] : [part]));
}

/** Returns a count with its noun: 1 relation, 1,204 entities. */
export function counted(count, noun) {
  const several = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : several}`;
}

/** Returns the form of a verb or a pronoun that agrees with a count. */
export const agreeing = (count, one, several) => (count === 1 ? one : several);

/** Returns a node's own name (`own`) and the name of its place (`place`). `holder` is the node whose box contains
 * it. */
export function calledIn(node, holder) {
  const name = oneLine(node.name) || node.id;
  if (holder) {
    const outer = `${oneLine(holder.name)}.`;
    return { own: name.startsWith(outer) ? name.slice(outer.length) : name, place: "" };
  }
  if (TABLES.has(node.type) || node.type === "FIELD") {
    const at = name.lastIndexOf(".");
    return { own: name.slice(at + 1), place: at > 0 ? name.slice(0, at) : "" };
  }
  if (PATHS.has(node.type)) {
    const trimmed = name.replace(/\/+$/, "");
    const at = trimmed.lastIndexOf("/");
    return at >= 0 && trimmed ? { own: trimmed.slice(at + 1), place: trimmed.slice(0, at) || "/" } : { own: name, place: "" };
  }
  return { own: titleOf(node), place: "" };
}

/** Returns the database of a table or view; "" for other nodes. */
export function databaseOf(node) {
  return TABLES.has(node.type) ? calledIn(node).place : "";
}

/** Returns a type in words: TABLE → table, OPERATION_EXECUTION → execution, SUB_OPERATION → column expression. */
export function inWords(type) {
  if (type === "SUB_OPERATION") return "column expression";
  if (type === "OPERATION_EXECUTION") return "execution";
  if (type === "FIELD") return "column";
  return String(type).toLowerCase().replaceAll("_", " ");
}

const INITIALS = ["HDFS", "YARN", "S3", "SDK", "JDBC"];

/** HIVE → Hive; initials stay. */
export function engineIn(type) {
  if (type === "MAPREDUCE") return "MapReduce";
  return INITIALS.includes(type) ? type : type.charAt(0) + type.slice(1).toLowerCase();
}

let called = null;

/** Returns a field in words: tp_columnIndex → column index. The page provides the words for fields that splitting
 * would not explain. */
export function fieldWords(field) {
  called ??= JSON.parse(document.getElementById("diagram")?.dataset.words ?? "{}");
  if (called[field]) return called[field];
  const own = field.replace(/^(tp|up|cp[a-z]?)_/, "");
  if (own.includes(".")) return own;
  const parts = own.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+/);
  return parts.map((each) => (/[A-Z]{2,}/.test(each) ? each : each.toLowerCase())).join(" ").trim() || field;
}

const canvas = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** Returns the width of a text in a CSS font, in pixels. */
export function widthOf(text, font) {
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 50_000) widths.clear();
    canvas.font = font;
    width = canvas.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** Returns the text if it fits into `most` pixels; otherwise its beginning and its end with … in between. */
export function cutInMiddle(text, most, font) {
  if (widthOf(text, font) <= most) return text;
  const signs = [...text.slice(0, 2000)];
  const end = text.length > 2000 ? [...text.slice(-500)] : signs;
  let [fits, tooMany] = [0, signs.length];
  while (fits + 1 < tooMany) {
    const kept = (fits + tooMany) >> 1;
    if (widthOf(cut(signs, end, kept), font) <= most) fits = kept;
    else tooMany = kept;
  }
  return cut(signs, end, fits);
}

function cut(signs, end, kept) {
  const last = kept >> 1;
  return `${signs.slice(0, kept - last).join("")}…${last ? end.slice(-last).join("") : ""}`;
}
