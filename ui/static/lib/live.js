// @ts-check
/** News from the server, shared by whatever is on the page: one stream per tab, many listeners. */

import { stream } from "./api.js";

/**
 * @typedef {{ points?: (news: { run_id: string, last_step: number, attempt: number }) => void,
 *   incident?: (incident: import("./api_types.js").IncidentView) => void,
 *   run?: (news: { run_id: string }) => void,
 *   reconnected?: () => void, state?: (connected: boolean) => void }} Listener
 */

/** @type {Set<Listener>} */
const listeners = new Set();
let connected = true;
let close = () => {};

/** Open the stream. `reconnected` listeners fetch anew, for what was said meanwhile is not repeated. */
export function start() {
  close();
  close = stream(
    (type, payload) => listeners.forEach((listener) => listener[type]?.(payload)),
    (now) => {
      const back = now && !connected;
      connected = now;
      listeners.forEach((listener) => listener.state?.(now));
      if (back) listeners.forEach((listener) => listener.reconnected?.());
    },
  );
  addEventListener("pagehide", () => close(), { once: true });
}

/** Hear news until the signal is aborted. @param {AbortSignal} signal @param {Listener} listener */
export function listen(signal, listener) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/**
 * Call `work` at most once in `milliseconds`, the last call never lost, one at a time, and not at all
 * while the page is hidden (it runs when the page is seen again).
 * @param {AbortSignal} signal @param {number} milliseconds @param {() => Promise<void> | void} work
 * @returns {() => void}
 */
export function throttled(signal, milliseconds, work) {
  let wanted = false;
  let busy = false;

  async function go() {
    if (!wanted || busy || document.hidden || signal.aborted) return;
    wanted = false;
    busy = true;
    const began = performance.now();
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) console.warn("Holter: could not refresh,", /** @type {Error} */ (error).message);
    }
    setTimeout(
      () => {
        busy = false;
        void go();
      },
      Math.max(0, milliseconds - (performance.now() - began)),
    );
  }

  document.addEventListener("visibilitychange", () => void go(), { signal });
  return () => {
    wanted = true;
    void go();
  };
}
