// @ts-check
/** Requests for charts beyond those of one run's curves: comparisons, heat maps, the plotting library. */

import { ApiError, request, search } from "./api.js";
import { decode } from "./msgpack.js";

/** The source of the plotting library. @param {string} address @returns {Promise<string>} */
export async function plottingLibrary(address) {
  const response = await fetch(address);
  if (!response.ok) throw new ApiError(response.status, "The plotting library could not be loaded.");
  return response.text();
}

const runPath = (/** @type {string} */ id) => `/runs/${encodeURIComponent(id)}`;

/** A chart for every metric of a run. @param {string} id @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").MetricChart[]>} */
export const chartsOf = async (id, signal) => (await request(`${runPath(id)}/charts`, { signal })).charts;

/** The series of a run whose name or labels contain a text. @param {string} id @param {string} q @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").SeriesInfo[]>} */
export const findSeries = async (id, q, signal) =>
  (await request(`${runPath(id)}/series${search({ q })}`, { signal })).series;

/**
 * A metric's series by rows and intervals of steps.
 * @typedef {{ labels: Record<string, string>[], columns: number, rows_total: number, first_step: number | null,
 *   last_step: number | null, mean: Float32Array, minimum: Float32Array, maximum: Float32Array }} Grid
 */

/** @param {string} id @param {string} metric @param {{ from?: number | null, to?: number | null, columns: number }} range @param {AbortSignal} [signal] @returns {Promise<Grid>} */
export async function gridOf(id, metric, { from, to, columns }, signal) {
  const path = `${runPath(id)}/grid${search({ metric, from, to, columns })}`;
  const grid = decode(await request(path, { signal, accept: "application/msgpack" }));
  const numbers = (/** @type {Uint8Array} */ bytes) => new Float32Array(bytes.slice().buffer);
  return { ...grid, mean: numbers(grid.mean), minimum: numbers(grid.minimum), maximum: numbers(grid.maximum) };
}

/**
 * Curves of several runs on a common axis.
 * @param {{ runs: string[], baseline?: string | null, x: string, metrics: string[], group?: string | null,
 *   range?: [number, number] | null, points?: number }} query @param {AbortSignal} [signal]
 * @returns {Promise<import("./api_types.js").CompareCurves>}
 */
export function compareCurves({ runs, baseline, x, metrics, group, range, points }, signal) {
  const query = new URLSearchParams([["runs", runs.join(",")], ["x", x], ...metrics.map((metric) => ["metric", metric])]);
  if (baseline) query.set("baseline", baseline);
  if (group) query.set("group_by", group);
  if (range) [query.set("from", String(range[0])), query.set("to", String(range[1]))];
  if (points) query.set("points", String(Math.round(points)));
  return request(`/compare/curves?${query}`, { signal });
}

/** @param {string[]} runs @param {string | null} baseline @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").CompareDifferences>} */
export const compareDifferences = (runs, baseline, signal) =>
  request(`/compare/differences${search({ runs: runs.join(","), baseline })}`, { signal });

/** @param {string[]} runs @param {string | null} baseline @param {string} x @param {AbortSignal} [signal] @returns {Promise<import("./api_types.js").CompareStatistics>} */
export const compareStatistics = (runs, baseline, x, signal) =>
  request(`/compare/statistics${search({ runs: runs.join(","), baseline, x })}`, { signal });
