// @ts-check
/** The live stream of the server: one connection per tab, many listeners. */

import { stream } from "./api.js";

/**
 * @typedef {{ points?: (event: import("./api_types.js").PointsEvent) => void,
 *   incident?: (incident: import("./api_types.js").IncidentView) => void,
 *   run?: (event: import("./api_types.js").RunEvent) => void,
 *   reconnected?: () => void, state?: (connected: boolean) => void }} Listener
 */

/** @type {Set<Listener>} */
const listeners = new Set();
let connected = true;
let close = () => {};

/** Open the stream. `reconnected` listeners must fetch again, since missed events are not repeated. */
export function start() {
  close();
  close = stream(
    (type, payload) => listeners.forEach((listener) => listener[type]?.(payload)),
    (isConnected) => {
      const back = isConnected && !connected;
      connected = isConnected;
      listeners.forEach((listener) => listener.state?.(isConnected));
      if (back) listeners.forEach((listener) => listener.reconnected?.());
    },
  );
  addEventListener("pagehide", () => close(), { once: true });
}

/** Add a listener until the signal is aborted. @param {AbortSignal} signal @param {Listener} listener */
export function listen(signal, listener) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/**
 * A function that runs `work` at most once per `milliseconds` and never concurrently. The last call is never
 * dropped. While the page is hidden nothing runs; it runs once the page is visible again.
 * @param {AbortSignal} signal @param {number} milliseconds @param {() => Promise<void> | void} work
 * @returns {() => void}
 */
export function throttled(signal, milliseconds, work) {
  let requested = false;
  let busy = false;

  async function go() {
    if (!requested || busy || document.hidden || signal.aborted) return;
    requested = false;
    busy = true;
    const startTime = performance.now();
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) console.warn("Holter: refresh failed:", /** @type {Error} */ (error).message);
    }
    setTimeout(
      () => {
        busy = false;
        void go();
      },
      Math.max(0, milliseconds - (performance.now() - startTime)),
    );
  }

  document.addEventListener("visibilitychange", () => void go(), { signal });
  return () => {
    requested = true;
    void go();
  };
}
