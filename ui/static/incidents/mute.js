// @ts-check
/** Mutes the notifications of one incident: for a time, or until it recovers. */

import { author } from "./author.js";
import * as api from "../lib/api.js";
import { h } from "../lib/dom.js";
import { clock } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { popover } from "../lib/popover.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").SilenceView} SilenceView */

/** @type {[string, number | null][]} texts and seconds; null: until it recovers */
const CHOICES = [
  ["30 minutes", 1800],
  ["2 hours", 7200],
  ["Until it recovers", null],
];

/** The text of the button. Pure. @param {SilenceView | null} mute */
export function muteLabel(mute) {
  if (mute === null) return "Mute";
  return mute.comment.startsWith("Muted until it recovers") ? "Muted until it recovers" : `Muted until ${clock(mute.ends_at)}`;
}

/**
 * A button with the choices; of a muted incident with "Unmute".
 * @param {IncidentView} incident @param {SilenceView | null} mute the silence of the incident in force
 * @param {(mute: SilenceView | null) => void} changed
 */
export function muteButton(incident, mute, changed) {
  /** @param {() => Promise<SilenceView | null>} request @param {string} done */
  const send = async (request, done) => {
    try {
      changed(await request());
      toast(done);
    } catch (error) {
      toast(`Not changed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
  };
  return popover({ label: muteLabel(mute), image: icon("mute"), className: "mute-incident" }, (close) => {
    const choose = (/** @type {number | null} */ seconds, /** @type {string} */ text) => () => {
      close();
      void send(() => api.mute(incident.id, seconds, author()), `Muted: ${text.toLowerCase()}`);
    };
    const unmute = () => {
      close();
      void send(() => api.unmute(incident.id).then(() => null), "Notifications are sent again");
    };
    return h(
      "div",
      { class: "popover-choices" },
      h("p", { class: "quiet" }, "No notifications about this incident:"),
      ...CHOICES.map(([text, seconds]) =>
        h("button", { type: "button", class: "button", on: { click: choose(seconds, text) } }, text),
      ),
      mute && h("button", { type: "button", class: "button", on: { click: unmute } }, "Unmute"),
    );
  });
}
