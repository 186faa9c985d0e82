// @ts-check
/** Which charts a run's page shows: those the reader added, then those that every run begins with. Pure. */

/** @typedef {import("../lib/types.js").ChartPlan} ChartPlan */
/** @typedef {import("../lib/types.js").SeriesSummary} SeriesSummary */

/** @param {ChartPlan} plan @param {string} metric */
export const showsMetric = (plan, metric) => plan.series.some((name) => name.metric === metric);

/**
 * @param {ChartPlan[]} own the run's charts @param {string[]} added metrics the reader added
 * @param {SeriesSummary[]} series what is known of all series
 * @returns {(ChartPlan & { added?: boolean })[]}
 */
export function plansOf(own, added, series) {
  const more = added.filter((metric) => !own.some((plan) => showsMetric(plan, metric)));
  return [...more.flatMap((metric) => addedPlan(metric, series)), ...own];
}

/** @param {string} metric @param {SeriesSummary[]} series */
function addedPlan(metric, series) {
  const matching = series.filter((summary) => summary.metric === metric);
  if (matching.length === 0) return [];
  const names = matching.map(({ labels }) => ({ metric, labels }));
  return [{ title: metric, role: matching[0].role, series: names, added: true }];
}
