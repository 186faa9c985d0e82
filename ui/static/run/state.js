// @ts-check
/** What a run's page knows, and what follows from it and the address for the charts. */

import { palette } from "../charts/board.js";
import { milliseconds } from "../charts/curves.js";
import { hasTimes } from "../charts/health_strip.js";
import { fullRange, stepsInRange } from "../charts/ranges.js";
import { readViewOptions } from "../charts/view_options.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

/** The run, its incidents and how they are looked at; one a page, changed in place. */
export class RunState {
  /** @param {RunDetail} run @param {IncidentView[]} incidents @param {URLSearchParams} query */
  constructor(run, incidents, query) {
    this.run = run;
    this.incidents = incidents;
    /** @type {import("../lib/api_types.js").ChartCurve | undefined} the loss over the whole run, for its slope */
    this.loss = undefined;
    /** @type {number | null} the strength of smoothing while its slider is moved */
    this.sliding = null;
    this.look = readViewOptions(query);
    /** @type {import("../charts/panel.js").Shared} */
    this.shared = {
      axis: "step",
      range: null,
      smoothing: 0,
      modes: this.look.modes,
      palette: palette(),
      attempts: run.strip.attempts,
      incidents,
      selected: null,
      expected: [],
    };
    this.follow(query);
  }

  /** The address or what is known has changed. @param {URLSearchParams} query */
  follow(query) {
    const { shared, run, incidents } = this;
    this.look = readViewOptions(query);
    shared.axis = this.look.axis === "time" && this.clocked ? "time" : "step";
    shared.smoothing = this.sliding ?? this.look.smoothing;
    shared.modes = this.look.modes;
    shared.attempts = run.strip.attempts;
    shared.incidents = incidents;
    shared.selected = incidents.find((incident) => String(incident.id) === this.look.incident) ?? null;
    shared.range = this.stretch ?? fullRange(run.strip, shared.axis);
  }

  /** Does the log have times? */
  get clocked() {
    return hasTimes(this.run.strip.attempts);
  }

  /** The stretch of the address on the axis; null: everything. @returns {[number, number] | null} */
  get stretch() {
    const { stretch } = this.look;
    if (stretch === null || this.shared.axis === "step") return stretch;
    return [milliseconds(stretch[0]), milliseconds(stretch[1])];
  }

  /** The steps that the charts show; nulls: all of them. */
  get steps() {
    return stepsInRange(this.run.strip, this.shared.axis, this.stretch);
  }

  /** Keep what is known of an incident up to date. @param {IncidentView} fresh */
  learn(fresh) {
    const isKnown = this.incidents.some((incident) => incident.id === fresh.id);
    this.incidents = isKnown
      ? this.incidents.map((incident) => (incident.id === fresh.id ? fresh : incident))
      : [...this.incidents, fresh];
  }
}

/** @typedef {import("../charts/panel.js").ChartPlan} ChartPlan */
/** @typedef {import("../lib/api_types.js").SeriesInfo} SeriesInfo */

/** @param {ChartPlan} plan @param {string} metric */
export const showsMetric = (plan, metric) => plan.series.some((name) => name.metric === metric);

/**
 * @param {ChartPlan[]} own the run's charts @param {string[]} added metrics the reader added
 * @param {SeriesInfo[]} series what is known of all series
 * @returns {ChartPlan[]}
 */
export function plansOf(own, added, series) {
  const more = added.filter((metric) => !own.some((plan) => showsMetric(plan, metric)));
  return [...more.flatMap((metric) => addedPlan(metric, series)), ...own];
}

/** @param {string} metric @param {SeriesInfo[]} series */
function addedPlan(metric, series) {
  const matching = series.filter((summary) => summary.metric === metric);
  if (matching.length === 0) return [];
  const names = matching.map(({ labels }) => ({ metric, labels }));
  return [{ title: metric, role: matching[0].role, series: names, added: true }];
}
