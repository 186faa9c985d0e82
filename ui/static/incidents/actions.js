// @ts-check
/** What people do with an incident: acknowledge, close with a reason, assign, mark as planned, undo. */

import { author } from "./author.js";
import { inRun } from "./details.js";
import { muteButton } from "./mute.js";
import * as api from "../lib/api.js";
import { incidentTitle } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { popover } from "../lib/popover.js";
import * as prefs from "../lib/preferences.js";
import { go } from "../lib/router.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {"acknowledge" | "unacknowledge" | "close" | "planned" | "reopen"} Verb */
/** @typedef {(incident: IncidentView) => void} Show */

const REASONS = ["Fixed", "Rolled back", "False alarm", "Known and accepted"];

/** The sentence about a failed action. Pure. @param {Error} error */
export const failureText = (error) => `Not changed: ${error.message}`;

/**
 * Change an incident on the page at once, then on the server; on failure the page shows the old state.
 * @param {IncidentView} incident @param {Verb} verb @param {Show} show
 * @param {{ undo?: boolean, text?: string }} [options] `text`: why, for the history
 */
export async function actOn(incident, verb, show, { undo = true, text = "" } = {}) {
  show({ ...incident, ...OPTIMISTIC[verb](Date.now() / 1000) });
  try {
    show(await api.act(incident.id, verb, text ? { text, ...author() } : author()));
  } catch (error) {
    show(incident);
    const again = () => void actOn(incident, verb, show, { undo, text });
    toast(failureText(/** @type {Error} */ (error)), { tone: "critical", action: "Try again", run: again });
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

/** Buttons for the actions that the state of an incident allows. @param {IncidentView} incident @param {Show} show */
export function actions(incident, show) {
  const button = (/** @type {Verb} */ verb, /** @type {string} */ text, strong = false) =>
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

/**
 * All actions of the incident's own page.
 * @param {IncidentView} incident @param {Show} show
 * @param {{ mute: import("./mute.js").SilenceView | null, onMute: (mute: import("./mute.js").SilenceView | null) => void }} muting
 */
export function allActions(incident, show, { mute, onMute }) {
  if (incident.state === "closed") return actions(incident, show);
  const [acknowledge, , ...planned] = actions(incident, show);
  return [acknowledge, muteButton(incident, mute, onMute), assignButton(incident, show), closeButton(incident, show), ...planned];
}

/** A button that asks for the reason before it closes. @param {IncidentView} incident @param {Show} show */
function closeButton(incident, show) {
  return popover({ label: "Close", className: "close-incident" }, (close) => {
    const text = field("Reason", "What was it, what was done");
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      close();
      void actOn(incident, "close", show, { text: text.value.trim() });
    };
    const suggestions = REASONS.map((reason) =>
      h("button", { type: "button", class: "chip", on: { click: () => ((text.value = reason), text.focus()) } }, reason),
    );
    return h(
      "form",
      { on: { submit } },
      text,
      h("div", { class: "row" }, suggestions),
      h("button", { type: "submit", class: "button button-strong" }, "Close incident"),
    );
  });
}

/** A button that asks who is to work on it. @param {IncidentView} incident @param {Show} show */
function assignButton(incident, show) {
  const label = incident.assignee ? `Assigned to ${incident.assignee}` : "Assign";
  return popover({ label, image: icon("person"), className: "assign-incident" }, (close) => {
    const name = field("Name", "Name of a person");
    name.value = incident.assignee ?? "";
    const send = (/** @type {string | null} */ assignee) => {
      close();
      void assign(incident, assignee, show);
    };
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      send(name.value.trim() || null);
    };
    const me = prefs.get("name", "");
    return h(
      "form",
      { on: { submit } },
      name,
      h(
        "div",
        { class: "row" },
        h("button", { type: "submit", class: "button button-strong" }, "Assign"),
        me && h("button", { type: "button", class: "button", on: { click: () => send(me) } }, "To me"),
        incident.assignee &&
          h("button", { type: "button", class: "button", on: { click: () => send(null) } }, "To nobody"),
      ),
    );
  });
}

/** @param {IncidentView} incident @param {string | null} assignee @param {Show} show */
async function assign(incident, assignee, show) {
  try {
    show(await api.assign(incident.id, assignee, author()));
  } catch (error) {
    toast(failureText(/** @type {Error} */ (error)), { tone: "critical" });
  }
}

/** @param {string} label @param {string} placeholder */
const field = (label, placeholder) =>
  /** @type {HTMLInputElement} */ (h("input", { class: "field", "aria-label": label, placeholder, maxlength: 200 }));
