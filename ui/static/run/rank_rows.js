// @ts-check
/** Rows of a heat map: the series of a metric, or groups of them such as hosts. Pure. */

import { pinKey } from "../charts/traces.js";

/** @typedef {import("../lib/chart_api.js").Grid} Grid */
/**
 * One row; `mean`: by column, NaN without a value; `average`: of its columns; `key`: what pins it; `size`: how many series it is made of.
 * @typedef {{ labels: Record<string, string>, key: string, mean: Float32Array, average: number, size: number }} Row
 */

/** A row for each series, in the order of the grid. @param {Grid} grid @returns {Row[]} */
export function rowsOf({ labels, columns, mean }) {
  return labels.map((own, i) => {
    const values = mean.subarray(i * columns, (i + 1) * columns);
    return { labels: own, key: pinKey({ metric: "", labels: own }), mean: values, average: averageOf(values), size: 1 };
  });
}

/** @param {ArrayLike<number>} values */
function averageOf(values) {
  let sum = 0;
  let n = 0;
  for (let i = 0; i < values.length; i++)
    if (!Number.isNaN(values[i])) {
      sum += values[i];
      n += 1;
    }
  return n ? sum / n : NaN;
}

/** Rows with the same value of a label as one row, its mean. @param {Row[]} rows @param {string} label @returns {Row[]} */
export function groupedRows(rows, label) {
  /** @type {Map<string, Row[]>} */
  const groups = new Map();
  for (const row of rows) {
    const value = row.labels[label] ?? "";
    groups.set(value, [...(groups.get(value) ?? []), row]);
  }
  return [...groups].map(([value, members]) => {
    const mean = new Float32Array(members[0].mean.length);
    for (let k = 0; k < mean.length; k++) mean[k] = averageOf(members.map((member) => member.mean[k]));
    const labels = { [label]: value };
    return { labels, key: `${label}=${value}`, mean, average: averageOf(mean), size: members.length };
  });
}

/** @param {Row[]} rows @param {string} order "slowest": largest mean first; otherwise as they are @returns {Row[]} */
export function sortedRows(rows, order) {
  if (order !== "slowest") return rows;
  const value = (/** @type {Row} */ row) => (Number.isNaN(row.average) ? -Infinity : row.average);
  return [...rows].sort((a, b) => value(b) - value(a));
}

/** rank 37, host node04. @param {Row} row */
export const rowName = ({ labels, size }) =>
  Object.entries(labels)
    .sort(([a], [b]) => Number(b === "rank") - Number(a === "rank"))
    .map(([name, value]) => `${name} ${value}`)
    .join(", ") + (size > 1 ? ` (mean of ${size})` : "");
