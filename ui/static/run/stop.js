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
  /** @type {Set<number>} when the requests were made that were withdrawn here */
  const withdrawn = new Set();
  let drawn = "";

  /** @param {RunDetail} run */
  function show(run) {
    // an answer that was asked for before a request was withdrawn, and comes after, still has it
    shown = { ...run, stop: unlessWithdrawn(run.stop), save: unlessWithdrawn(run.save) };
    if (!isAsking) draw(shown); // a refresh must not remove what somebody is typing
  }

  /** @param {RunDetail} run */
  function draw(run) {
    const state = JSON.stringify([run.stop, run.save, run.state]);
    if (state === drawn) return; // a button that is replaced between press and release is not clicked
    drawn = state;
    element.hidden = run.stop === null && run.save === null && run.state === "finished";
    refill(element, stopPart(run), savePart(run));
  }

  /** @template {{ requested_at: number }} T @param {T | null} request */
  function unlessWithdrawn(request) {
    return request !== null && withdrawn.has(request.requested_at) ? null : request;
  }

  /** @param {RunDetail} run */
  function stopPart({ stop, state }) {
    if (stop === null) return state === "finished" ? null : button("Stop run…", askToStop);
    if (stop.stopped_at !== null) return h("span", {}, `${stopSentence(stop)}.`);
    return h("span", {}, `${stopSentence(stop)}. `, button("Withdraw", () => void send(api.withdrawStop(runId), stop.requested_at)));
  }

  /** @param {RunDetail} run */
  function savePart({ save, state }) {
    const again = state === "finished" ? null : button("Save checkpoint…", askToSave);
    if (save === null) return again;
    if (save.saved_at !== null) return h("span", {}, `${saveSentence(save)}. `, again);
    return h("span", {}, `${saveSentence(save)}. `, button("Withdraw", () => void send(api.withdrawSave(runId), save.requested_at)));
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
    drawn = "";
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

  /** @param {Promise<RunDetail>} request @param {number} [withdraws] when the request was made that it withdraws */
  async function send(request, withdraws) {
    try {
      shown = await request;
      if (withdraws !== undefined) withdrawn.add(withdraws);
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
