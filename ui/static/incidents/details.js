// @ts-check
/** Components of an incident that several pages show: evidence, history, actions, comments. */

import { evidenceRows, evidenceText } from "./evidence.js";
import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { evidenceField, incidentTitle, kindTitle } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import { ago, clock, count, duration, percent, sentenceCase, step as stepText } from "../lib/format.js";
import * as prefs from "../lib/preferences.js";
import { go } from "../lib/router.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const POSITIONS = /** @type {const} */ ([
  ["start_step", "Onset at"],
  ["peak_step", "Peak at"],
  ["end_step", "Ended at"],
  ["detected_step", "Detected at"],
]);

/** Whether the steps of an incident are wall times in milliseconds, as with machines and agents. @param {IncidentView} incident */
const isTimed = (incident) => incident.labels?.steps === "milliseconds";

/** A step of an incident, or its time. @param {IncidentView} incident @param {number} step */
const positionText = (incident, step) => (isTimed(incident) ? clock(step / 1000) : stepText(step));

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
  if (incident.run_id !== null)
    rows.push(
      ["Metric", [incident.metric, ...labelTexts(incident)].join(", ")],
      ["Attempt", String(incident.attempt)],
    );
  for (const [name, label] of POSITIONS) {
    const step = incident[name];
    if (step !== null) rows.push([`${label}${unit}`, positionText(incident, step)]);
  }
  if (end !== null && end > start)
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

/** @type {Record<string, string>} */
const EVENTS = {
  opened: "Opened",
  reclassified: "Reclassified",
  escalated: "Severity raised",
  recovered: "Recovered",
  acknowledged: "Acknowledged",
  unacknowledged: "Unacknowledged",
  closed: "Closed",
  eased: "Severity lowered",
  moved: "Steps corrected",
  withdrawn: "No longer detected",
  reopened: "Reopened",
  comment: "Comment",
  commented: "Comment",
  notified: "Notification sent",
};

/** The history of an incident, oldest first. @param {IncidentView} incident */
export function history(incident) {
  return h(
    "ol",
    { class: `history severity-edge-${incident.severity}` },
    incident.events.map((event) => {
      const detail = eventDetail(event, incident);
      const who = event.by ? ` by ${event.by}` : "";
      return h(
        "li",
        { class: `event event-${event.type}` },
        h(
          "div",
          {},
          h("b", {}, EVENTS[event.type] ?? sentenceCase(event.type)),
          h("span", {}, who),
          " ",
          h(
            "time",
            { class: "quiet", title: clock(event.at), data: { ago: String(event.at) } },
            ago(event.at),
          ),
        ),
        event.text ? h("p", { class: "event-text" }, event.text) : null,
        detail ? h("p", { class: "quiet" }, detail) : null,
      );
    }),
  );
}

/** @param {import("../lib/api_types.js").IncidentHistoryEntry} event @param {IncidentView} incident */
function eventDetail({ detail }, incident) {
  if (!detail) return "";
  const kinds = [detail.from_kind ?? detail.from, detail.to_kind ?? detail.to].filter(
    (kind) => typeof kind === "string",
  );
  if (kinds.length === 2) return `${kindTitle(kinds[0])} became ${kindTitle(kinds[1]).toLowerCase()}`;
  return Object.entries(detail)
    .filter(([, value]) => value !== null && typeof value !== "object")
    .map(([name, value]) =>
      name === "kind"
        ? incidentTitle({ kind: String(value), state: "open" })
        : `${sentenceCase(name).toLowerCase()} ${evidenceText(evidenceField(name), value, incident)}`,
    )
    .join(", ");
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
      [incident.run_id === null ? [] : incident.metric, ...labelTexts(incident), steps].flat().join(" · "),
    ),
  );
}

/**
 * Change an incident on the page at once, then on the server; on failure the page shows the old state.
 * @param {IncidentView} incident @param {"acknowledge" | "unacknowledge" | "close" | "planned" | "reopen"} verb
 * @param {(incident: IncidentView) => void} show @param {{ undo?: boolean }} [options]
 */
export async function actOn(incident, verb, show, { undo = true } = {}) {
  show({ ...incident, ...OPTIMISTIC[verb](Date.now() / 1000) });
  try {
    show(await api.act(incident.id, verb, author()));
  } catch (error) {
    show(incident);
    toast(`Failed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    return;
  }
  if (verb === "planned") {
    // the incident and the planned event are undone separately
    toast("Closed, and added to the planned events of this run", {
      action: "Show",
      run: () => go(`/runs/${encodeURIComponent(incident.run_id ?? "")}#expected`),
    });
    return;
  }
  const undoAction = UNDO[verb];
  const run = () => void actOn(incident, undoAction, show, { undo: false });
  if (undo) toast(`${DONE[verb]}: ${incidentTitle(incident)}${inRun(incident)}`, { action: "Undo", run });
}

/** @type {Record<string, (now: number) => Partial<IncidentView>>} */
const OPTIMISTIC = {
  acknowledge: (now) => ({ acknowledged_at: now, acknowledged_by: prefs.get("name", "") || null }),
  unacknowledge: () => ({ acknowledged_at: null, acknowledged_by: null }),
  close: (now) => ({ state: "closed", closed_at: now }),
  planned: (now) => ({ state: "closed", closed_at: now }),
  reopen: () => ({ state: "open", closed_at: null }),
};
const UNDO = /** @type {const} */ ({
  acknowledge: "unacknowledge",
  unacknowledge: "acknowledge",
  close: "reopen",
  reopen: "close",
});
const DONE = {
  acknowledge: "Acknowledged",
  unacknowledge: "Unacknowledged",
  close: "Closed",
  reopen: "Reopened",
};

/** The name of the user, if stored in this browser. */
function author() {
  const by = prefs.get("name", "");
  return by ? { by } : {};
}

/** Buttons for the actions that the state of an incident allows. @param {IncidentView} incident @param {(incident: IncidentView) => void} show */
export function actions(incident, show) {
  const button = (
    /** @type {Parameters<typeof actOn>[1]} */ verb,
    /** @type {string} */ text,
    strong = false,
  ) =>
    h(
      "button",
      {
        type: "button",
        class: `button${strong ? " button-strong" : ""}`,
        on: { click: () => void actOn(incident, verb, show) },
      },
      text,
    );
  if (incident.state === "closed") return [button("reopen", "Reopen")];
  const acknowledged = incident.acknowledged_at !== null;
  return [
    acknowledged
      ? button("unacknowledge", "Unacknowledge")
      : button("acknowledge", "Acknowledge", incident.state === "open"),
    button("close", "Close"),
    ...(incident.run_id === null ? [] : [button("planned", "Mark as planned")]),
  ];
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
