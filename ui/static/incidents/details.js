// @ts-check
/** Pieces of an incident that several pages show: evidence, history, what one can do about it. */

import * as api from "../lib/api.js";
import { h } from "../lib/dom.js";
import { evidenceRows, evidenceText } from "./evidence.js";
import { ago, clock, percent, step as stepText } from "../lib/format.js";
import * as prefs from "../lib/preferences.js";
import { go } from "../lib/router.js";
import { toast } from "../lib/toasts.js";
import { incidentTitle, kindTitle, sentence, severityMark } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const COMES_BACK = /^spike|^divergence|nonfinite|regression|slowdown|straggler|collapse|shift|resume/;
const PERSISTENT = ["start_step", "peak_step", "end_step", "detected_step"];

/** Evidence as a table for people: where, then the numbers it rests on. @param {IncidentView} incident */
export function evidenceTable(incident) {
  const series = Object.entries(incident.labels ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
  /** @type {[string, string][]} */
  const rows = [
    ["Metric", `${incident.metric}${series ? `, ${series}` : ""}`],
    ["Attempt", String(incident.attempt)],
  ];
  for (const name of PERSISTENT) {
    const value = /** @type {any} */ (incident)[name];
    const words =
      {
        start_step: "Began at step",
        peak_step: incident.severity === "info" ? "Furthest at step" : "Worst at step",
        end_step: COMES_BACK.test(incident.kind) ? "Back at step" : "Ended at step",
        detected_step: "Noticed at step",
      }[name] ?? name;
    if (value !== null) rows.push([words, stepText(value)]);
  }
  if (incident.end_step !== null && incident.end_step > incident.start_step)
    rows.push(["Steps affected", stepText(incident.end_step - incident.start_step)]);
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
  escalated: "Escalated",
  recovered: "Recovered",
  acknowledged: "Acknowledged",
  unacknowledged: "Acknowledgement withdrawn",
  closed: "Closed",
  eased: "Eased",
  moved: "Placed better",
  withdrawn: "Withdrawn",
  reopened: "Reopened",
  comment: "Comment",
  commented: "Comment",
  notified: "Notified",
};

/** What happened to an incident, oldest first. @param {IncidentView} incident */
export function history(incident) {
  return h(
    "ol",
    { class: `history severity-edge-${incident.severity}` },
    incident.events.map((event) => {
      const detail = eventDetail(event);
      const who = event.by ? ` by ${event.by}` : "";
      return h(
        "li",
        { class: `event event-${event.type}` },
        h(
          "div",
          {},
          h("b", {}, EVENTS[event.type] ?? sentence(event.type)),
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

/** @param {import("../lib/api_types.js").IncidentHistoryEntry} event */
function eventDetail({ detail }) {
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
        : `${sentence(name).toLowerCase()} ${evidenceText(name, value)}`,
    )
    .join(", ");
}

/** Where it was, in steps; a pause may end at an earlier step than it began, for it ends with a rollback. Pure. @param {IncidentView} incident */
export function stepsText({ start_step: start, end_step: end, state }) {
  if (end === null) return `${state === "open" ? "since" : "from"} step ${stepText(start)}`;
  if (end <= start) return `after step ${stepText(start)}`;
  return `steps ${stepText(start)} to ${stepText(end)}`;
}

/** Severity, kind and place of an incident in one quiet line. @param {IncidentView} incident */
export function placeLine(incident) {
  const labels = Object.entries(incident.labels ?? {}).map(([name, value]) => `${name} ${value}`);
  const steps = stepsText(incident);
  return h(
    "p",
    { class: "incident-line" },
    severityMark(incident.severity, incidentTitle(incident)),
    h("span", { class: "quiet number" }, [incident.metric, ...labels, steps].join(" · ")),
  );
}

/**
 * Do it on the page at once and on the server after; take it back on the page when the server will not.
 * @param {IncidentView} incident @param {"acknowledge" | "unacknowledge" | "close" | "planned" | "reopen"} verb
 * @param {(incident: IncidentView) => void} show @param {{ undo?: boolean }} [options]
 */
export async function actOn(incident, verb, show, { undo = true } = {}) {
  show({ ...incident, ...FORESEEN[verb](Date.now() / 1000) });
  try {
    show(await api.act(incident.id, verb, author()));
  } catch (error) {
    show(incident);
    toast(`Not done: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    return;
  }
  if (verb === "planned") {
    // two things were done: each is taken back where it stands
    toast("Closed as planned, and expected in these steps from now on", {
      action: "Show",
      run: () => go(`/runs/${encodeURIComponent(incident.run_id)}#expected`),
    });
    return;
  }
  const back = BACK[verb];
  const run = () => void actOn(incident, back, show, { undo: false });
  if (undo) toast(`${DONE[verb]}: ${incidentTitle(incident)} in ${incident.run}`, { action: "Undo", run });
}

/** @type {Record<string, (now: number) => Partial<IncidentView>>} */
const FORESEEN = {
  acknowledge: (now) => ({ acknowledged_at: now, acknowledged_by: prefs.get("name", "") || null }),
  unacknowledge: () => ({ acknowledged_at: null, acknowledged_by: null }),
  close: (now) => ({ state: "closed", closed_at: now }),
  planned: (now) => ({ state: "closed", closed_at: now }),
  reopen: () => ({ state: "open", closed_at: null }),
};
const BACK = /** @type {const} */ ({
  acknowledge: "unacknowledge",
  unacknowledge: "acknowledge",
  close: "reopen",
  reopen: "close",
});
const DONE = {
  acknowledge: "Acknowledged",
  unacknowledge: "Acknowledgement withdrawn",
  close: "Closed",
  reopen: "Reopened",
};

/** Who acts, if this browser was told. */
function author() {
  const by = prefs.get("name", "");
  return by ? { by } : {};
}

/** The verbs that apply now, as buttons. @param {IncidentView} incident @param {(incident: IncidentView) => void} show */
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
  const seen = incident.acknowledged_at !== null;
  return [
    seen
      ? button("unacknowledge", "Withdraw acknowledgement")
      : button("acknowledge", "Acknowledge", incident.state === "open"),
    button("close", "Close"),
    button("planned", "This was planned"),
  ];
}

/** A field for a comment, with the writer's name remembered. @param {IncidentView} incident @param {(incident: IncidentView) => void} show */
export function commentForm(incident, show) {
  const text = /** @type {HTMLTextAreaElement} */ (
    h("textarea", {
      class: "field",
      rows: 2,
      name: "comment",
      required: true,
      "aria-label": "Comment",
      placeholder: "What did you see, what did you do?",
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
