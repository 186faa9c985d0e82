// @ts-check
/** Curves of several runs, as charts draw them: each run's, differences from the baseline, groups of runs. Pure. */

/** @typedef {import("../lib/api_types.js").ComparisonChart} ComparisonChart */
/** @typedef {import("../charts/curves.js").ChartCurve} ChartCurve */
/** @typedef {import("../charts/curves.js").Axis} Axis */
/** @typedef {"curves" | "difference" | "ratio" | "groups"} View */
/** @typedef {Map<string, import("../charts/curves.js").CurveOwner>} Owners runs or groups by their ids */

export const X_AXES = /** @type {[string, string][]} */ ([
  ["step", "Step"],
  ["tokens", "Tokens"],
  ["samples", "Samples"],
  ["wall", "Wall time"],
  ["relative", "Relative time"],
]);

/** The axis of the charts for an alignment. @param {string} x @returns {Axis} */
export const chartAxis = (x) => /** @type {Axis} */ (x === "wall" ? "time" : x);

/** Positions of the charts from those of the server: wall time in milliseconds. @param {string} x @param {number[]} positions */
const placed = (x, positions) => (x === "wall" ? positions.map((each) => 1000 * each) : positions);

/** The curves that a chart shows. @param {ComparisonChart} chart @param {string} x @param {View} view @param {Owners} owners @returns {ChartCurve[]} */
export function chartCurves(chart, x, view, owners) {
  if (view === "groups") return groupCurves(chart, x, owners);
  if (view !== "curves") return differenceCurves(chart, x, view, owners);
  return chart.curves.flatMap((curve) => {
    const run = owners.get(curve.run);
    if (!run) return [];
    const segments = curve.segments.map(({ attempt, ghost, step, x: positions, value, band }) => ({
      attempt,
      ghost,
      step: x === "step" ? positions : step,
      time: x === "wall" ? positions : [],
      x: placed(x, positions),
      value,
      band: band && { ...band, step: band.x, x: placed(x, band.x) },
    }));
    const { count, reduced, nonfinite, nonfinite_count } = curve;
    return [
      { metric: chart.metric, labels: {}, run, count, reduced, segments, nonfinite, nonfinite_count, thinned: 0 },
    ];
  });
}

/** @param {ComparisonChart} chart @param {string} x @param {"difference" | "ratio"} view @param {Owners} owners @returns {ChartCurve[]} */
function differenceCurves(chart, x, view, owners) {
  return chart.differences.flatMap(({ run: id, x: positions, difference, ratio }) => {
    const run = owners.get(id);
    if (!run) return [];
    const values = view === "difference" ? difference : ratio;
    const known = values.flatMap((value, i) => (value === null ? [] : [i]));
    return [
      lineCurve(
        chart.metric,
        run,
        x,
        known.map((i) => positions[i]),
        known.map((i) => /** @type {number} */ (values[i])),
        null,
      ),
    ];
  });
}

/** @param {ComparisonChart} chart @param {string} x @param {Owners} owners @returns {ChartCurve[]} */
function groupCurves(chart, x, owners) {
  return chart.groups.flatMap(({ group, x: positions, mean, minimum, maximum }) => {
    const run = owners.get(`group ${group}`);
    return run ? [lineCurve(chart.metric, run, x, positions, mean, { minimum, maximum })] : [];
  });
}

/**
 * A curve of computed values, with a band or without.
 * @param {string} metric @param {import("../charts/curves.js").CurveOwner} run @param {string} x @param {number[]} positions
 * @param {number[]} value @param {{ minimum: number[], maximum: number[] } | null} band @returns {ChartCurve}
 */
function lineCurve(metric, run, x, positions, value, band) {
  // with a band, the points are its extremes, so that they are within the y axis
  const steps = band ? positions.flatMap((each) => [each, each]) : positions;
  const segment = {
    attempt: 0,
    ghost: false,
    step: steps,
    time: x === "wall" ? steps : [],
    x: placed(x, steps),
    value: band ? band.minimum.flatMap((low, i) => [low, band.maximum[i]]) : value,
    band: band && { step: positions, x: placed(x, positions), mean: value, ...band },
  };
  const counts = { count: steps.length, reduced: true, computed: true, nonfinite: [], nonfinite_count: 0, thinned: 0 };
  return { metric, labels: {}, run, segments: positions.length ? [segment] : [], ...counts };
}

/**
 * The first and last position of what a view shows, with a margin.
 * @param {import("../lib/api_types.js").ComparedRun[]} runs @param {string | null} baseline @param {string} x @param {View} view
 * @returns {[number, number] | null}
 */
export function fullRange(runs, baseline, x, view) {
  // differences exist only where the baseline has points
  const shown = view === "difference" || view === "ratio" ? runs.filter(({ id }) => id === baseline) : runs;
  const ends = shown.flatMap(({ attempts }) => attempts.flatMap(({ first_x, last_x }) => [first_x, last_x]));
  const known = placed(
    x,
    ends.filter((end) => end !== null),
  );
  if (known.length === 0) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const margin = 0.01 * (high - low) || 0.5;
  return [low - margin, high + margin];
}

/** The groups of some runs in the order of their values, numbers as numbers. @param {import("../lib/api_types.js").ComparedRun[]} runs @returns {string[]} */
export function groupsOf(runs) {
  const groups = [...new Set(runs.flatMap(({ group }) => (group === null ? [] : [group])))];
  return groups.sort((a, b) => Number(a) - Number(b) || a.localeCompare(b));
}
