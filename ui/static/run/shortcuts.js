// @ts-check
/** The keys of a run's page: through the run, closer and further, the axis and the scale. */

import * as keys from "../lib/keyboard.js";

const CLOSER = 0.5;
const FURTHER = 2;
const ASIDE = 0.3; // of what is shown

/**
 * A range moved by a share of itself and stretched about its middle. Pure.
 * @param {[number, number]} range @param {number} shift @param {number} factor @returns {[number, number]}
 */
export function moved([low, high], shift, factor) {
  const span = high - low;
  const middle = (low + high) / 2 + shift * span;
  return [middle - (span * factor) / 2, middle + (span * factor) / 2];
}

/**
 * @param {AbortSignal} signal
 * @param {{ zoom: (range: [number, number] | null) => void, range: () => [number, number] | null,
 *   otherAxis: () => void, toggleLog: () => void }} actions
 */
export function bindKeys(signal, { zoom, range, otherAxis, toggleLog }) {
  const by = (/** @type {number} */ shift, /** @type {number} */ factor) => () => {
    const now = range();
    if (now) zoom(moved(now, shift, factor));
  };
  keys.bind(signal, [
    { keys: "+, =", label: "Zoom in", run: by(0, CLOSER) },
    { keys: "-", label: "Zoom out", run: by(0, FURTHER) },
    { keys: "ArrowLeft", label: "Earlier", run: by(-ASIDE, 1) },
    { keys: "ArrowRight", label: "Later", run: by(ASIDE, 1) },
    { keys: "0", label: "The whole run", run: () => zoom(null) },
    { keys: "x", label: "Steps or time", run: otherAxis },
    { keys: "l", label: "First chart logarithmic or linear", run: toggleLog },
  ]);
}
