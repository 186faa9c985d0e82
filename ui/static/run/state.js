// @ts-check
/** The state of the run page: the run, its incidents, the view options, and what the charts share. */

import { palette } from "../charts/board.js";
import { milliseconds } from "../charts/curves.js";
import { hasTimes } from "../charts/health_strip.js";
import { fullRange, stepsInRange } from "../charts/ranges.js";
import { readViewOptions } from "../charts/view_options.js";
import { axisName, fullExtent } from "../charts/x_axes.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

/** The state of one run page, changed in place. */
export class RunState {
  /** @param {RunDetail} run @param {IncidentView[]} incidents @param {URLSearchParams} query */
  constructor(run, incidents, query) {
    this.run = run;
    this.incidents = incidents;
    /** @type {number | null} the smoothing while its slider is dragged */
    this.sliding = null;
    /** @type {{ axis: import("../charts/curves.js").Axis, scale: import("../charts/x_axes.js").AxisScale } | null} of an axis other than steps and wall time, once it is loaded */
    this.axisScale = null;
    /** @type {string[]} what the words by which charts are found pin */
    this.found = [];
    this.viewOptions = readViewOptions(query);
    /** @type {import("../charts/panel.js").Shared} */
    this.shared = {
      axis: "step",
      range: null,
      smoothing: 0,
      modes: this.viewOptions.modes,
      palette: palette(),
      attempts: run.strip.attempts,
      incidents,
      selected: null,
      expected: [],
    };
    this.follow(query);
  }

  /** Update from the address, the run and the incidents. @param {URLSearchParams} query */
  follow(query) {
    const { shared, run, incidents } = this;
    this.viewOptions = readViewOptions(query);
    shared.axis = this.axis;
    shared.axisName = axisName(shared.axis);
    shared.xLog = this.viewOptions.xLog;
    const { scale } = this;
    shared.xOf = scale ? (step, attempt) => scale.at(step, attempt, null) : undefined;
    shared.pinned = [...new Set([...this.found, ...this.viewOptions.pins])];
    shared.smoothing = this.sliding ?? this.viewOptions.smoothing;
    shared.modes = this.viewOptions.modes;
    shared.attempts = run.strip.attempts;
    shared.incidents = incidents;
    shared.selected = incidents.find((incident) => String(incident.id) === this.viewOptions.incident) ?? null;
    shared.range = this.range ?? (scale ? fullExtent(scale) : fullRange(run.strip, shared.axis));
  }

  /** The axis that can be drawn: that of the address, or steps until its positions are known. @returns {import("../charts/curves.js").Axis} */
  get axis() {
    const { axis } = this.viewOptions;
    if (axis === "step" || axis === "time") return axis === "time" && this.clocked ? "time" : "step";
    return this.axisScale?.axis === axis ? axis : "step";
  }

  /** The positions on the axis, if it is neither steps nor wall time. */
  get scale() {
    return this.axisScale?.axis === this.viewOptions.axis ? this.axisScale.scale : null;
  }

  /** Whether the log has times. */
  get clocked() {
    return hasTimes(this.run.strip.attempts);
  }

  /** The range of the address on the axis; null: everything. @returns {[number, number] | null} */
  get range() {
    const { range, axis } = this.viewOptions;
    if (axis !== "step" && axis !== this.shared.axis) return null; // its values are not those of the axis shown
    if (range === null || this.shared.axis !== "time") return range;
    return [milliseconds(range[0]), milliseconds(range[1])];
  }

  /** The steps that the charts show; nulls: all of them. */
  get steps() {
    const { scale, range } = this;
    if (scale) return range ? scale.steps(range) : { from: null, to: null };
    return stepsInRange(this.run.strip, this.shared.axis, range);
  }

  /** Add or replace an incident. @param {IncidentView} incident */
  updateIncident(incident) {
    const isKnown = this.incidents.some((known) => known.id === incident.id);
    this.incidents = isKnown
      ? this.incidents.map((known) => (known.id === incident.id ? incident : known))
      : [...this.incidents, incident];
  }
}

/** @typedef {import("../charts/panel.js").ChartPlan} ChartPlan */
/** @typedef {import("../lib/api_types.js").SeriesInfo} SeriesInfo */

/** @param {ChartPlan} plan @param {string} metric */
export const showsMetric = (plan, metric) => plan.series.some((name) => name.metric === metric);

/**
 * The charts of the page: those that the reader added, then the default ones. Pure.
 * @param {ChartPlan[]} defaults @param {string[]} added metrics
 * @param {SeriesInfo[]} series all series of the run
 * @returns {ChartPlan[]}
 */
export function chartPlans(defaults, added, series) {
  const extra = added.filter((metric) => !defaults.some((plan) => showsMetric(plan, metric)));
  return [...extra.flatMap((metric) => addedPlan(metric, series)), ...defaults];
}

/** @param {string} metric @param {SeriesInfo[]} series */
function addedPlan(metric, series) {
  const matching = series.filter((summary) => summary.metric === metric);
  if (matching.length === 0) return [];
  const names = matching.map(({ labels }) => ({ metric, labels }));
  return [{ title: metric, role: matching[0].role, series: names, added: true }];
}
