// Icons of types and sources, distinguished by shape, on a grid of 16 by 16.

import { svg } from "./svg.js";

const TYPES = {
  TABLE: "M1.5 3h13v10h-13zM1.5 6.5h13M6 3v10",
  VIEW: "M1 8c2-3.5 4.5-5 7-5s5 1.5 7 5c-2 3.5-4.5 5-7 5s-5-1.5-7-5zM10.5 8a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z",
  DATABASE: "M2 4c0-1.4 2.7-2.5 6-2.5s6 1.1 6 2.5v8c0 1.4-2.7 2.5-6 2.5s-6-1.1-6-2.5zM2 4c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5",
  FIELD: "M5 2h6v12H5zM5 6h6",
  DIRECTORY: "M1.5 3.5H6l1.5 2h7v8h-13z",
  FILE: "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
  DATASET: "M4 4V1.5h10.5V11H12M1.5 4H12v10.5H1.5zM1.5 8H12",
  PARTITION: "M1.5 2.5h13v11h-13zM1.5 6h13M1.5 9.5h13",
  S3BUCKET: "M2 3.5h12l-1.5 11h-9zM2 3.5c0-1.2 2.7-2 6-2s6 .8 6 2",
  OPERATION: "M2 2.5L7.5 8 2 13.5M8 2.5L13.5 8 8 13.5",
  SUB_OPERATION: "M5 2.5L10.5 8 5 13.5",
  OPERATION_EXECUTION: "M15 8A7 7 0 1 1 1 8a7 7 0 0 1 14 0zM6.5 5v6l5-3z",
};
const OTHER_TYPE = "M8 1.5L14.5 8 8 14.5 1.5 8z";
const PLACEHOLDER = "M5 5.5a3 3 0 1 1 4.4 2.6c-.9.5-1.4 1.1-1.4 2.2M8 13v.7";

const SOURCES = {
  HIVE: "M8 1.5l5.6 3.25v6.5L8 14.5l-5.6-3.25v-6.5z",
  IMPALA: "M3 2c0 5 2 7 5 12 3-5 5-7 5-12M6 3c0 3 .8 5 2 7 1.2-2 2-4 2-7",
  SPARK: "M8 1l1.8 5.2L15 8 9.8 9.8 8 15 6.2 9.8 1 8l5.2-1.8z",
  HDFS: "M1.5 9h6v5.5h-6zM8.5 9h6v5.5h-6zM5 2h6v5.5H5z",
  YARN: "M15 8A7 7 0 1 1 1 8a7 7 0 0 1 14 0zM3 4c4 1 7 4 9 9M1.5 9c3 0 5 2 6.5 5.5",
  MAPREDUCE: "M2 3l6 5 6-5M8 8v6",
  S3: "M2 3.5h12l-1.5 11h-9zM2 7h12",
  LOCAL: "M1.5 3h13v8h-13zM5 14h6",
  OOZIE: "M2 2h5v5H2zM9 9h5v5H9zM7 4.5h4.5V9",
  SQOOP: "M2 5h11l-3-3M14 11H3l3 3",
  PIG: "M1.5 5h13v7h-13zM5.5 7v3M10.5 7v3",
  SDK: "M6 2C4 2 4.5 4 4.5 5.5S4 8 2.5 8C4 8 4.5 9 4.5 10.5S4 14 6 14M10 2c2 0 1.5 2 1.5 3.5S12 8 13.5 8C12 8 11.5 9 11.5 10.5S12 14 10 14",
};
const OTHER_SOURCE = "M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0z";

/** Returns the icon of a node's type; for a placeholder, a question mark. */
export function typeIcon(node, x, y, size) {
  const path = node.placeholder ? PLACEHOLDER : (TYPES[node.type] ?? OTHER_TYPE);
  return icon(`icon type-icon${node.placeholder ? " placeholder-icon" : ""}`, path, x, y, size, node.type);
}

/** Returns the icon of a source's type. */
export function sourceIcon(sourceType, x, y, size) {
  return icon("icon source-icon", SOURCES[sourceType] ?? OTHER_SOURCE, x, y, size, sourceType);
}

/** The types and sources with icons of their own, for the legend. */
export const TYPES_DRAWN = Object.keys(TYPES);
export const SOURCES_DRAWN = Object.keys(SOURCES);

function icon(kind, path, x, y, size, of) {
  const attributes = { class: kind, d: path, transform: `translate(${x} ${y}) scale(${size / 16})`, "data-icon": of };
  return svg("path", { ...attributes, fill: "none", "stroke-linejoin": "round", "stroke-linecap": "round" });
}
