// @ts-check
/** The dry run: where an incident would go now, and why. Nothing is sent. */

import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { incidentTitle, kindTitle, kinds } from "../lib/catalogue.js";
import { h, refill } from "../lib/dom.js";
import { ago, duration, step as stepText } from "../lib/format.js";
import { dataTable } from "../lib/page_parts.js";

/** @typedef {import("../lib/api_types.js").RoutingDecision} RoutingDecision */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const SEVERITIES = ["critical", "warning", "info"];
const INCIDENTS = 50;
/** @type {Record<string, [string, string]>} */
const OUTCOMES = { notified: ["ok", "notified"], muted: ["warning", "muted"], not_notified: ["info", "not notified"] };

/** The labels of a line "name=value, name=value". Pure; without "=" a part has no value. @param {string} text */
export const splitLabels = (text) =>
  Object.fromEntries(
    splitList(text).map((part) => {
      const [name, ...value] = part.split("=");
      return [name.trim(), value.join("=").trim()];
    }),
  );

/** @param {unknown} text @returns {string[]} */
const splitList = (text) =>
  String(text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

/** The body of the request. Pure. @param {Record<string, unknown>} data the fields of the form */
export function routingQuestion(data) {
  if (data.incident) return { incident_id: Number(data.incident) };
  return {
    project: data.project,
    run: data.run,
    kind: data.kind || null,
    severity: data.severity,
    tags: splitList(data.tags),
    metric: data.metric,
    labels: splitLabels(String(data.labels)),
  };
}

/** The form and its answer. @param {AbortSignal} signal */
export async function createDryRun(signal) {
  const { incidents } = await api.incidentPage({ state: "all", limit: INCIDENTS }, signal);
  const answer = h("div", { role: "status", class: "dry-run-answer" });
  const labels = h(
    "div",
    { class: "dry-run-labels" },
    select("kind", "Kind", [["", "any"], ...kinds().map((kind) => /** @type {[string, string]} */ ([kind, kindTitle(kind)]))]),
    select("severity", "Severity", SEVERITIES.map((severity) => [severity, severity])),
    field("project", "Project", "llm"),
    field("run", "Run", "104b"),
    field("tags", "Tags", "nightly, prod"),
    field("metric", "Metric", "train/loss"),
    field("labels", "Other labels", "rank=3"),
  );
  const chosen = select("incident", "Incident", [["", "one with these labels:"], ...incidents.map(incidentOption)]);
  chosen.addEventListener("change", (event) => {
    labels.hidden = /** @type {HTMLSelectElement} */ (event.target).value !== "";
  });
  const form = /** @type {HTMLFormElement} */ (
    h(
      "form",
      { class: "dry-run-form", "aria-label": "Dry run", on: { submit } },
      incidents.length > 0 && chosen,
      labels,
      h("button", { type: "submit", class: "button" }, "Dry run"),
    )
  );

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    try {
      refill(answer, ...decisionParts(await api.testRouting(routingQuestion(Object.fromEntries(new FormData(form))))));
    } catch (error) {
      refill(answer, severityMark("critical", /** @type {Error} */ (error).message));
    }
  }
  return [form, answer];
}

/** @param {IncidentView} incident @returns {[string, string]} */
function incidentOption(incident) {
  const { id, run, start_step: step, opened_at: opened } = incident;
  const place = run === null ? "" : ` in ${run} at step ${stepText(step)}`;
  return [String(id), `#${id} ${incidentTitle(incident)}${place}, ${ago(opened)}`];
}

/** @param {RoutingDecision} decision */
function decisionParts({ text, channels, steps }) {
  return [
    h("p", { class: "dry-run-text" }, text),
    channels.length > 0 &&
      dataTable(
        "Channels",
        ["Channel", "Outcome", "Because", "Waits"],
        channels.map((one) => [one.channel, severityMark(...OUTCOMES[one.outcome]), one.text, duration(one.group_wait)]),
      ),
    dataTable(
      "Routes that were tried",
      ["Route tried", "Receiver", "Result"],
      steps.map(({ path, receiver, failed }) => [
        path,
        receiver,
        failed === null ? "matches" : h("span", { class: "quiet" }, "needs ", h("code", {}, failed)),
      ]),
    ),
  ];
}

/** @param {string} name @param {string} label @param {string} placeholder */
const field = (name, label, placeholder) =>
  h(
    "label",
    {},
    label,
    h("input", { class: "field", name, placeholder, maxlength: 500, spellcheck: "false", autocomplete: "off" }),
  );

/** @param {string} name @param {string} label @param {[string, string][]} options */
const select = (name, label, options) =>
  h("label", {}, label, h("select", { class: "select", name }, options.map(([value, text]) => h("option", { value }, text))));
