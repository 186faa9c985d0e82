// @ts-check
/** Components of an incident that several pages show: onset, key facts, evidence, comments. */

import { author } from "./author.js";
import { evidenceRows, levelUnit } from "./evidence.js";
import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { evidenceField, incidentTitle } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import {
  ago,
  clock,
  count,
  duration,
  number,
  numbersApart,
  percent,
  sentenceCase,
  step as stepText,
} from "../lib/format.js";
import * as prefs from "../lib/preferences.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const POSITIONS = /** @type {const} */ ([
  ["start_step", "Onset at"],
  ["peak_step", ""],
  ["end_step", "Ended at"],
  ["detected_step", "Detected at"],
]);

/** The word for the step at which a metric was farthest from its baseline. @param {IncidentView} incident */
function extremeWord({ evidence }) {
  if ("peak" in evidence) return "peak";
  if ("lowest" in evidence) return "lowest";
  if ("worst" in evidence) return "worst";
  return "level" in evidence ? "new level" : "peak";
}

/** Whether the evidence has a level that was farthest from the baseline. @param {IncidentView} incident */
const hasExtreme = ({ evidence }) => ["peak", "lowest", "worst", "level"].some((key) => key in evidence);

/** Whether the steps of an incident are wall times in milliseconds, as with machines and agents. @param {IncidentView} incident */
const isTimed = (incident) => incident.labels?.steps === "milliseconds";

/** A step of an incident, or its time. @param {IncidentView} incident @param {number} step */
const positionText = (incident, step) => (isTimed(incident) ? clock(step / 1000) : stepText(step));

/** Whether an incident is about the entire run, and its metric only the one by whose clock it was detected. @param {IncidentView} incident */
const isOfRun = ({ kind }) => kind === "stall";

/** The labels of an incident's series: rank 3, host n17. @param {IncidentView} incident */
const labelTexts = (incident) =>
  Object.entries(incident.labels ?? {})
    .filter(([name]) => name !== "steps")
    .map(([name, value]) => `${name} ${value}`);

/** " in RUN", empty for an incident without a run. @param {IncidentView} incident */
export const inRun = ({ run }) => (run === null ? "" : ` in ${run}`);

/** When an incident began and how long it lasted. @param {IncidentView} incident @returns {import("../lib/dom.js").Child[]} */
export function onsetLine(incident) {
  const { start_step: start, end_step: end, start_time: startTime, attempt } = incident;
  const timed = isTimed(incident);
  const time = startTime ?? (timed ? start / 1000 : null);
  const position = timed
    ? "Onset "
    : `Onset at step ${stepText(start)} of attempt ${attempt}${time === null ? "" : ", "}`;
  const length = end !== null && end > start ? end - start : 0;
  return [
    position,
    time !== null && `${clock(time)} (`,
    time !== null && h("time", { data: { ago: String(time) } }, ago(time)),
    time !== null && ")",
    length > 0 && `, ${timed ? duration(length / 1000) : count(length, "step")} long`,
  ];
}

/** The evidence table: metric, steps, then the values of the evidence. @param {IncidentView} incident */
export function evidenceTable(incident) {
  const { start_step: start, end_step: end } = incident;
  const unit = isTimed(incident) ? "" : " step";
  /** @type {[string, string][]} */
  const rows = [];
  if (incident.run_id !== null && !isOfRun(incident))
    rows.push(["Metric", [incident.metric, ...labelTexts(incident)].join(", ")]);
  if (incident.run_id !== null) rows.push(["Attempt", String(incident.attempt)]);
  for (const [name, label] of POSITIONS) {
    const step = incident[name];
    const word = name === "peak_step" ? `${sentenceCase(extremeWord(incident))} at` : label;
    if (name === "peak_step" && step === start && !hasExtreme(incident)) continue; // NaN has no peak
    if (step !== null) rows.push([`${word}${unit}`, positionText(incident, step)]);
  }
  if (end !== null && end > start && !("duration_steps" in incident.evidence))
    rows.push(
      isTimed(incident)
        ? ["Duration", duration((end - start) / 1000)]
        : ["Steps affected", stepText(end - start)],
    );
  rows.push(...evidenceRows(incident));
  rows.push(["Confidence", percent(incident.confidence)]);
  return h(
    "table",
    { class: "evidence" },
    h(
      "tbody",
      {},
      rows.map(([name, text]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", { class: /^[\d\s.,%∞−+e–-]+$/.test(text) ? "number" : "" }, text),
        ),
      ),
    ),
  );
}

/**
 * The three facts that matter first: where it began, what changed, how long it lasts or when it was closed. Pure.
 * @param {IncidentView} incident @returns {[string, string, string][]} name, value, and more about it
 */
export function keyFacts(incident) {
  const { start_step: start, end_step: end, peak_step: peak, attempt, state, evidence } = incident;
  const timed = isTimed(incident);
  const began = timed ? clock(start / 1000) : stepText(start);
  /** @type {[string, string, string][]} */
  const facts = [[timed ? "Began" : "Began at step", began, timed ? "" : `attempt ${attempt}`]];
  const level = evidence.peak ?? evidence.worst ?? evidence.lowest ?? evidence.level;
  if (typeof evidence.baseline === "number" && typeof level === "number")
    facts.push([
      incident.metric,
      `${numbersApart([evidence.baseline, level]).join(" → ")} ${levelUnit(incident)}`.trim(),
      peak === null || timed ? "" : `${extremeWord(incident)} at step ${stepText(peak)}`,
    ]);
  else if (typeof level === "number")
    facts.push([incident.metric, `${number(level, 3)} ${levelUnit(incident)}`.trim(), evidenceField("level").label.toLowerCase()]);
  else if (incident.run_id !== null && !isOfRun(incident))
    facts.push(["Metric", incident.metric, labelTexts(incident).join(", ")]);
  if (end !== null && end > start)
    facts.push(["Duration", timed ? duration((end - start) / 1000) : count(end - start, "step"), sentenceCase(state)]);
  else facts.push(state === "open" ? ["Duration", "ongoing", "Open"] : closedFact(incident));
  return facts;
}

/**
 * When, and by whom or why, an incident that has no end in the run recovered or was closed.
 * @param {IncidentView} incident @returns {[string, string, string]}
 */
function closedFact({ state, severity, events, recovered_at: recovered, closed_at: closed }) {
  const by = events.findLast((event) => event.type === state)?.by;
  const why = state === "closed" && severity === "info" ? "for information only" : "";
  return [sentenceCase(state), clock(state === "closed" ? closed : recovered), by ? `by ${by}` : why];
}

/** The steps or times of an incident, as text. A stall that a rollback ended has an end before its start. Pure. @param {IncidentView} incident */
export function stepsText(incident) {
  const { start_step: start, end_step: end, state } = incident;
  const [first, last] = [start, end ?? start].map((step) => positionText(incident, step));
  const [step, steps] = isTimed(incident) ? ["", ""] : ["step ", "steps "];
  if (end === null) return `${state === "open" ? "since" : "from"} ${step}${first}`;
  if (end <= start) return `after ${step}${first}`;
  return `${steps}${first} to ${last}`;
}

/** A line with severity, title, metric and steps of an incident. @param {IncidentView} incident */
export function incidentLine(incident) {
  const steps = stepsText(incident);
  return h(
    "p",
    { class: "incident-line" },
    severityMark(incident.severity, incidentTitle(incident)),
    h(
      "span",
      { class: "quiet number" },
      [incident.run_id === null || isOfRun(incident) ? [] : incident.metric, ...labelTexts(incident), steps].flat().join(" · "),
    ),
  );
}

/** A form for a comment; the author's name is stored in this browser. @param {IncidentView} incident @param {(incident: IncidentView) => void} show */
export function commentForm(incident, show) {
  const text = /** @type {HTMLTextAreaElement} */ (
    h("textarea", {
      class: "field",
      rows: 2,
      name: "comment",
      required: true,
      "aria-label": "Comment",
      placeholder: "Observations, actions taken",
    })
  );
  const name = /** @type {HTMLInputElement} */ (
    h("input", {
      class: "field",
      name: "name",
      "aria-label": "Your name",
      placeholder: "Your name",
      autocomplete: "name",
      value: prefs.get("name", ""),
    })
  );

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    prefs.set("name", name.value.trim());
    try {
      show(await api.act(incident.id, "comment", { text: text.value.trim(), ...author() }));
      text.value = "";
    } catch (error) {
      toast(`The comment was not stored: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
  }
  return h(
    "form",
    { class: "comment-form", on: { submit } },
    text,
    h("div", { class: "row" }, name, h("button", { type: "submit", class: "button" }, "Comment")),
  );
}
