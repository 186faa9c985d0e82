// @ts-check
/** Asks a run's client to stop, after a confirmation; shows who asked, why, and whether it has ended. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").StopRequest} StopRequest */

/** What is known about a request to stop, as a sentence. Pure. @param {StopRequest} stop */
export function stopSentence({ by, reason, stopped_at: stoppedAt }) {
  const begin = stoppedAt === null ? "Asked to stop" : "Stopped";
  return [begin, by && `by ${by}`, reason && `because: ${reason}`].filter(Boolean).join(" ");
}

/** @param {string} runId */
export function createStop(runId) {
  const element = h("div", { class: "stop-run" });
  let isAsking = false;
  /** @type {RunDetail | null} */
  let shown = null;

  /** @param {RunDetail} run */
  function show(run) {
    shown = run;
    if (isAsking) return; // a refresh must not remove what somebody is typing
    element.hidden = run.stop === null && run.state === "finished";
    if (run.stop === null) refill(element, button("Stop run…", ask));
    else if (run.stop.stopped_at === null)
      refill(element, stopSentence(run.stop), ". ", button("Withdraw", () => void send(api.withdrawStop(runId))));
    else refill(element, stopSentence(run.stop), ".");
  }

  function ask() {
    isAsking = true;
    const reason = /** @type {HTMLInputElement} */ (h("input", { type: "text", maxlength: "2000", placeholder: "Reason", "aria-label": "Reason" }));
    refill(
      element,
      h("b", {}, "The training process is interrupted as by Ctrl-C. "),
      reason,
      " ",
      button("Stop", () => void send(api.stopRun(runId, reason.value.trim()))),
      " ",
      button("Cancel", finish),
    );
    reason.focus();
  }

  function finish() {
    isAsking = false;
    if (shown) show(shown);
  }

  /** @param {Promise<RunDetail>} request */
  async function send(request) {
    try {
      shown = await request;
    } catch (error) {
      toast(`Not changed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
    finish();
  }

  return { element, show };
}

/** @param {string} text @param {() => void} onClick */
function button(text, onClick) {
  return h("button", { type: "button", class: "button", on: { click: onClick } }, text);
}
