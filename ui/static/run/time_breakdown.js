// @ts-check
/** Where a run's wall time went: a slim bar, and what was lost in words and times. */

import { h, refill } from "../lib/dom.js";
import { duration, percent } from "../lib/format.js";

/** @typedef {import("../lib/types.js").Spent} Spent */

/** @type {[keyof Spent, string, string][]} */
const PARTS = [
  ["forward", "forward", "Moved the run forward as fast as it can"],
  ["slow", "below own best", "Moved the run forward, slower than its own best speed: what that took longer"],
  ["superseded", "done again", "Steps that a later attempt did again"],
  ["restarts", "restarts", "From the last point of an attempt to the first of the next"],
  ["stalled", "stalled", "Stood still within an attempt"],
];
const MIN_SHARE = 0.005; // a share of the time that is worth a word

/** What there is to show of it: parts with share, seconds, words. Empty where next to nothing was lost. Pure. @param {Spent | null} spent */
export function timeParts(spent) {
  if (!spent || 1 - spent.forward.share < MIN_SHARE) return [];
  return PARTS.map(([what, name, title]) => ({ what, name, title, ...spent[what] })).filter(
    (part) => part.what === "forward" || part.share >= MIN_SHARE,
  );
}

export function createTimeBreakdown() {
  const element = h("div", { class: "spent", hidden: true });
  return {
    element,
    /** @param {Spent | null} spent */
    show(spent) {
      const parts = timeParts(spent);
      element.hidden = parts.length === 0;
      const bar = h("div", { class: "spent-bar", "aria-hidden": "true" });
      for (const { what, share } of parts) {
        const piece = h("span", { class: `spent-${what}` });
        piece.style.flexGrow = String(share);
        bar.append(piece);
      }
      refill(element, bar, h("ul", { class: "spent-parts" }, parts.map(legend)));
    },
  };
}

/** @param {ReturnType<typeof timeParts>[number]} part */
function legend({ what, name, title, share, seconds }) {
  return h(
    "li",
    { title },
    h("span", { class: `spent-key spent-${what}`, "aria-hidden": "true" }),
    h("span", {}, name),
    h("span", { class: "number quiet" }, `${percent(share, 1)}, ${duration(seconds)}`),
  );
}
