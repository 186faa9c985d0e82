// @ts-check
/** What of a run could not be read or was not kept: said on its page, so that nothing is missing in silence. */

import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";

/** @typedef {import("../lib/types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/types.js").UnreadablePlace} UnreadablePlace */

/** Was it readable, but refused: too much, or names that never come again? Pure. @param {UnreadablePlace} place */
export const isRefused = ({ place, reason }) => place.startsWith("max_") || reason.startsWith(`${place}:`);

/** What is missing, in a line. Pure. @param {UnreadablePlace[]} places the newest @param {number} total */
export function unreadableSummary(places, total) {
  const refused = places.filter(isRefused).length;
  const unread = total - refused;
  return [
    unread && `${count(unread, "place")} in the logs could not be read`,
    refused && (unread ? "series were not kept" : "Series were not kept"),
  ]
    .filter(Boolean)
    .join(", and ");
}

export function createUnreadable() {
  const summary = h("summary", {});
  const list = h("ul", {});
  const element = h("details", { class: "all-series unreadable", hidden: true }, summary, list);

  /** @param {RunDetail} run */
  function show(run) {
    const { unreadable, unreadable_count: total } = run;
    element.hidden = total === 0;
    refill(summary, unreadableSummary(unreadable, total));
    refill(
      list,
      ...unreadable.map((location) =>
        h("li", {}, isRefused(location) ? location.reason : `${location.source}, ${location.place}: ${location.reason}`),
      ),
      total > unreadable.length ? h("li", { class: "quiet" }, `The newest ${unreadable.length} are shown.`) : "",
    );
  }

  return { element, show };
}
