// @ts-check
/** Channels, silences and notifications in words. Pure. */

import { ago, clock, duration } from "../lib/format.js";
import { notificationReason } from "../lib/notification_reasons.js";

/** @typedef {import("../lib/api_types.js").NotificationView} NotificationView */
/** @typedef {import("../lib/api_types.js").ChannelView} ChannelView */

/** What became of a message, as a sentence: "Sent to oncall: it recovered". @param {NotificationView} notification */
export function notificationSentence({ state, channel, reason, attempts, next_try_at: next, muted, route }) {
  const why = notificationReason(reason);
  const by = route ? ` (route ${route})` : "";
  if (state === "delivered") return `Sent to ${channel}: ${why}${by}`;
  if (state === "folded") return `Sent to ${channel} with others: ${why}`;
  if (state === "given_up") return `Not delivered to ${channel} after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${why}`;
  if (state === "muted") return `Muted for ${channel}${muted ? `: ${muted}` : ""}`;
  if (state === "suppressed") return `Not sent to ${channel}${muted ? `: ${muted}` : ""}`;
  const again = attempts > 0 && next !== null ? `, next attempt ${clock(next)}` : "";
  return `Waiting for ${channel}: ${why}${again}`;
}

/** The state of a channel: a severity or "ok" for its colour, and a text. @param {ChannelView} channel @returns {[string, string]} */
export function channelState({ state, failing_since: since, given_up: lost }) {
  if (state === "failing") return ["critical", since === null ? "Failing" : `Failing since ${ago(since).replace(" ago", "")}`];
  if (lost > 0) return ["warning", `${lost} not delivered`];
  return state === "working" ? ["ok", "Working"] : ["info", "Not used yet"];
}

/** When a silence ends, or begins. @param {string} state @param {number} end @param {number} [now] Unix seconds */
export function untilText(state, end, now = Date.now() / 1000) {
  if (state === "expired") return `Ended ${clock(end)}`;
  return `${state === "pending" ? "Not begun, ends" : "Until"} ${clock(end)} (${duration(end - now)} left)`;
}
