// @ts-check
/** Asks a run's client to stop or to save a checkpoint, after a confirmation; shows who asked, why, and the outcome. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").StopRequest} StopRequest */
/** @typedef {import("../lib/api_types.js").SaveRequest} SaveRequest */

/** What is known about a request to stop, as a sentence. Pure. @param {StopRequest} stop */
export function stopSentence({ by, reason, stopped_at: stoppedAt }) {
  const begin = stoppedAt === null ? "Asked to stop" : "Stopped";
  return [begin, by && `by ${by}`, reason && `because: ${reason}`].filter(Boolean).join(" ");
}

/** What is known about a request to save a checkpoint, as a sentence. Pure. @param {SaveRequest} save */
export function saveSentence({ by, reason, saved_at: savedAt, saved_step: step, saved_seconds: seconds }) {
  const begin = savedAt === null ? "Asked to save a checkpoint" : "Saved a checkpoint";
  const where = savedAt !== null && step !== null && `at step ${count(step, "", "").trim()}`;
  const time = savedAt !== null && seconds !== null && `in ${seconds.toPrecision(2)} s`;
  return [begin, where, time, by && `asked by ${by}`, reason && `because: ${reason}`].filter(Boolean).join(" ");
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
    element.hidden = run.stop === null && run.save === null && run.state === "finished";
    refill(element, stopPart(run), savePart(run));
  }

  /** @param {RunDetail} run */
  function stopPart({ stop, state }) {
    if (stop === null) return state === "finished" ? null : button("Stop run…", askToStop);
    if (stop.stopped_at !== null) return h("span", {}, `${stopSentence(stop)}.`);
    return h("span", {}, `${stopSentence(stop)}. `, button("Withdraw", () => void send(api.withdrawStop(runId))));
  }

  /** @param {RunDetail} run */
  function savePart({ save, state }) {
    const again = state === "finished" ? null : button("Save checkpoint…", askToSave);
    if (save === null) return again;
    if (save.saved_at !== null) return h("span", {}, `${saveSentence(save)}. `, again);
    return h("span", {}, `${saveSentence(save)}. `, button("Withdraw", () => void send(api.withdrawSave(runId))));
  }

  function askToStop() {
    ask("The training process is interrupted as by Ctrl-C, or ends at its next step. ", "Stop", (reason) =>
      api.stopRun(runId, reason),
    );
  }

  function askToSave() {
    ask("The training loop saves a checkpoint at its next step, if it asks for its status. ", "Save", (reason) =>
      api.requestSave(runId, reason),
    );
  }

  /** @param {string} explanation @param {string} verb @param {(reason: string) => Promise<RunDetail>} request */
  function ask(explanation, verb, request) {
    isAsking = true;
    const reason = /** @type {HTMLInputElement} */ (h("input", { type: "text", maxlength: "2000", placeholder: "Reason", "aria-label": "Reason" }));
    refill(
      element,
      h("b", {}, explanation),
      reason,
      " ",
      button(verb, () => void send(request(reason.value.trim()))),
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
