// @ts-check
/** Entries of the command palette on a run page: metrics with their labels, and settings of the run. */

import * as api from "../lib/api.js";

/** @typedef {import("../lib/palette.js").PaletteItem} PaletteItem */
/** @typedef {import("../lib/api_types.js").SeriesInfo} SeriesInfo */

const MAX_LABELS = 4000; // series with labels that are searched

/**
 * Metrics first, then series with labels as "rank 37 of step_time". Pure.
 * @param {SeriesInfo[]} series @param {(metric: string) => void} show @returns {PaletteItem[]}
 */
export function metricItems(series, show) {
  const metrics = [...new Set(series.map(({ metric }) => metric))];
  const labelled = series.filter(({ labels }) => Object.keys(labels).length > 0).slice(0, MAX_LABELS);
  return [
    ...metrics.map((metric) => ({ group: "Metrics", title: metric, detail: "show chart", run: () => show(metric) })),
    ...labelled.map(({ metric, labels }) => ({
      group: "Series",
      title: Object.entries(labels)
        .map(([name, value]) => `${name} ${value}`)
        .join(", "),
      detail: metric,
      run: () => show(metric),
    })),
  ];
}

/**
 * Settings of a run's launches that contain the query. @param {string} runId @param {string} query
 * @param {() => void} show @param {AbortSignal} signal @returns {Promise<PaletteItem[]>}
 */
export async function settingItems(runId, query, show, signal) {
  if (query.trim().length < 2) return [];
  const { settings } = await api.configOf(runId, query.trim().split(/\s+/)[0], signal);
  return settings.slice(0, 50).map(({ name, values }) => ({
    group: "Configuration",
    title: name,
    detail: String(values.at(-1)?.value ?? ""),
    run: show,
  }));
}
