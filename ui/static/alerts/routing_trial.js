// @ts-check
/** Other settings of routing on trial: what is wrong with them, or which incidents they send elsewhere. */

import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { h, link, refill } from "../lib/dom.js";
import { ago, clock, count } from "../lib/format.js";
import { dataTable } from "../lib/page_parts.js";
import { routingParts } from "./routing.js";

/** @typedef {import("../lib/api_types.js").RoutingTrialResult} RoutingTrialResult */
/** @typedef {import("../lib/api_types.js").RoutingView} RoutingView */

/** What the trial found, in a sentence. Pure. @param {RoutingTrialResult} result */
export function trialSentence({ compared, changed }) {
  if (compared === 0) return "These settings are valid. There are no incidents yet to compare them on.";
  const of = compared === 1 ? "The newest incident" : `Of the newest ${compared} incidents`;
  if (compared === 1) return `These settings are valid. ${of} would ${changed.length ? "go elsewhere" : "go where it goes now"}.`;
  if (changed.length === 0) return `These settings are valid. All of the newest ${compared} incidents would go where they go now.`;
  return `These settings are valid. ${of} ${changed.length} would go elsewhere.`;
}

/** A folded editor that begins with the settings in force. @param {RoutingView} routing */
export function createRoutingTrial(routing) {
  const { toml, file } = routing;
  const answer = h("div", { role: "status", class: "dry-run-answer" });
  const text = /** @type {HTMLTextAreaElement} */ (
    h("textarea", { class: "field code-field", name: "toml", rows: 16, spellcheck: "false", autocomplete: "off", "aria-label": "Settings of routing" })
  );
  text.value = toml;
  const form = h(
    "form",
    { class: "trial-form", on: { submit } },
    text,
    h("div", { class: "row" }, h("button", { type: "submit", class: "button" }, "Check and compare")),
  );

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    try {
      refill(answer, ...resultParts(await api.tryRouting(text.value), routing));
    } catch (error) {
      refill(answer, severityMark("critical", /** @type {Error} */ (error).message.replace(/^body\.toml: /, "")));
    }
  }
  return h(
    "details",
    { class: "trial" },
    h("summary", {}, "Try other settings"),
    h(
      "p",
      { class: "quiet" },
      `These are the settings in force. Change them here to see what the server says to them: nothing is stored or sent. To use them, write them to ${file ?? "holter.toml"} and start the server again.`,
    ),
    form,
    answer,
  );
}

/** @param {RoutingTrialResult} result @param {RoutingView} current */
function resultParts(result, current) {
  return [
    severityMark("ok", trialSentence(result)),
    result.changed.length > 0 &&
      dataTable(
        "Incidents that would go elsewhere",
        ["Incident", "Opened", "Now to", "Then to"],
        result.changed.map(({ incident_id: id, title, opened_at: at, current, trial }) => [
          link(`/incidents/${id}`, {}, title),
          h("time", { title: clock(at) }, ago(at)),
          current.join(", ") || "nobody",
          h("b", {}, trial.join(", ") || "nobody"),
        ]),
      ),
    h("h3", {}, "The routes that these settings make"),
    ...routingParts(result.routing, current),
  ];
}
