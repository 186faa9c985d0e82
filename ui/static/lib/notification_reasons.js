// @ts-check
/** Why notifications are sent, in words. Pure. */

import { sentenceCase } from "./format.js";

/** @type {Record<string, string>} */
const REASONS = {
  opened: "it was opened",
  reopened: "it was reopened",
  escalated: "its severity was raised",
  reclassified: "it was reclassified",
  recovered: "it recovered",
  withdrawn: "it is no longer detected",
  closed: "it was closed",
  reminder: "it is still open",
  not_acknowledged: "nobody has acknowledged it",
  acknowledged: "it was acknowledged",
  unacknowledged: "it was unacknowledged",
  muted: "it was muted",
  unmuted: "it is no longer muted",
  "with others": "it changed together with others",
  digest: "a digest",
  channel_failing: "another channel does not deliver",
  channel_working: "another channel delivers again",
};

/** A reason as a clause: "it was opened". @param {string} reason */
export function notificationReason(reason) {
  return REASONS[reason] ?? sentenceCase(reason).toLowerCase();
}
