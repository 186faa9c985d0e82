// @ts-check
/** What of a run's logs could not be read: said on its page, so that nothing is missing in silence. */

import { h, refill } from "../dom.js";
import { count } from "../format.js";

/** @typedef {import("../types.js").RunDetail} RunDetail */

export function createUnreadable() {
  const summary = h("summary", {});
  const list = h("ul", {});
  const element = h("details", { class: "all-series unreadable", hidden: true }, summary, list);

  /** @param {RunDetail} run */
  function show(run) {
    const { unreadable, unreadable_count: total } = run;
    element.hidden = total === 0;
    refill(summary, `${count(total, "place")} in the logs could not be read`);
    refill(
      list,
      ...unreadable.map(({ source, place, reason }) => h("li", {}, `${source}, ${place}: ${reason}`)),
      total > unreadable.length ? h("li", { class: "quiet" }, `The newest ${unreadable.length} are shown.`) : "",
    );
  }

  return { element, show };
}
