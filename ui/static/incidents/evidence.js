// @ts-check
/** The numbers that an incident rests on, in words and with their units. Pure. */

import { clock, count, duration, number, percent, si, step as stepText, unit } from "../lib/format.js";
import { kindTitle, sentence } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {(value: any, incident: IncidentView) => string} Reading */

const RELATIVE = ["straggler", "comm_slowdown", "throughput_regression"]; // their noise is a share of the level
const METRICS = /** @type {Record<string, string>} */ ({
  grad_norm: "gradient norm",
  learning_rate: "learning rate",
});

/** @param {number} value */
const share = (value) => percent(value, value < 0.9995 ? 1 : 0);
/** A time as the incident's own series is logged. @type {Reading} */
const time = (value, { metric }) => `${number(value)} ${unit("step_time", metric)}`;
/** A level of the incident's own series. @type {Reading} */
function level(value, incident) {
  if (incident.kind === "comm_slowdown") return time(value, incident);
  if (incident.kind === "throughput_regression" && /time|ms\b|\bdt$/i.test(incident.metric))
    return time(value, incident);
  if (incident.kind === "throughput_regression") return `${si(value)} ${unit("throughput", incident.metric)}`;
  return `${number(value)} ${incident.evidence.unit ?? ""}`.trim();
}
/** @type {Reading} */
const growth = (value, { evidence }) => `${number(value, 3)} ${evidence.unit ?? ""}`.trim();
/** @param {number} value */
const steps = (value) => count(value, "step");
/** The largest first. @param {Record<string, number>} value */
const shares = (value) =>
  Object.entries(value)
    .sort(([, one], [, other]) => other - one)
    .map(([name, part]) => `${name} ${percent(part)}`)
    .join(", ");

/** @param {[number, number]} values */
function fromTo([before, after]) {
  return `${number(before, 3)} to ${number(after, 3)}`;
}

/** What the numbers are called, and how they are read where their names do not tell. @type {Record<string, [string, Reading?]>} */
const NAMES = {
  after_resume: ["Came with a resume"],
  also: ["Seen as well", (found) => found.map(referenceText).join("; ")],
  at_minimum: ["At its minimum"],
  because_of: ["Because of", referenceText],
  before: ["Last good value"],
  batch_size: ["Batch size", fromTo],
  baseline: ["Usual before", level],
  behind: ["Come least far", (rank) => `rank ${rank}`],
  belief: ["Believed sooner, as other metrics moved", (value) => `${number(value, 2)} times`],
  by_losses: ["Due to the losses of the datasets"],
  by_shares: ["Due to their shares"],
  call: ["It calls", String],
  collective: ["In the collective", String],
  correlation: ["Likeness with what came before", share],
  count: ["How many"],
  dead: ["Reported as dead"],
  duration_steps: ["Over", steps],
  duty: ["Slow in", (value) => `${share(value)} of the steps`],
  epoch: ["An epoch ended"],
  evaluations: ["Seen in the mean of", (value) => count(value, "evaluation")],
  expected_fall: ["Fall to be expected", share],
  expected_step: ["Unseen data expected from step"],
  faults: ["Faults", (found) => Object.entries(found).map(([name, times]) => `${name}: ${times}`).join(", ")],
  good_step: ["Good again at step"],
  gpu_power: ["Power of the GPUs meanwhile", (value) => `${number(value, 3)} W`],
  gpu_tensor_active: ["Tensor cores at work meanwhile", share],
  gpu_util: ["The GPUs called themselves busy", (value) => `${number(value, 3)} %`],
  gradient_norm: ["Gradient norm, of its median", (value) => `${number(value, 3)} times`],
  gradual: ["Came gradually"],
  growth_per_1000_steps: ["Growth per 1,000 steps", growth],
  growth_per_hour: ["Growth per hour", growth],
  how: ["What NaN is hidden as", (how) => String(how)],
  lag: ["Repeats what lies back", steps],
  last: ["Its last call is number", stepText],
  last_step: ["Last one at step", stepText],
  last_wall_time: ["Last at", clock],
  learning_rate: ["Learning rate", fromTo],
  learning_rate_expected: ["Learning rate before"],
  learning_rate_found: ["Learning rate after"],
  level: ["Level after", level],
  limit: ["Limit", level],
  limit_reached_at_step: ["Limit reached at about step"],
  limit_seconds: ["A pause as usual lasts at most"],
  logged: ["Shares were logged"],
  loss_scale_halvings: ["Loss scale halved", (value) => count(value, "time")],
  halvings: ["Halved", (value) => count(value, "time")],
  lost: ["Throughput lost", share],
  lost_per_step: ["Lost in each step", time],
  lowest: ["Lowest"],
  metrics: ["Metrics"],
  mixture: ["Datasets whose share moved", (names) => names.join(", ")],
  noise: ["Noise", (value, { kind }) => (RELATIVE.includes(kind) ? share(value) : number(value))],
  noise_known_from: ["Noise known from", (value) => `${count(value, "evaluation")} before`],
  not_logged: ["Not logged, so not looked at"],
  now: ["Now", level],
  others: ["The others are at"],
  others_call: ["The others call", String],
  others_wait: ["The others wait, each step", time],
  own_wait: ["It waits itself, each step", time],
  peak: ["Worst value", level],
  points: ["Points", (value) => stepText(value)],
  points_to_detect: ["Points until noticed"],
  power_share: ["Of their usual power", share],
  precursors: ["What came with it", (found) => found.map(precursorText).join("; ")],
  ranks: ["Ranks", (ranks) => ranks.join(", ")],
  recovery_steps: ["Back after", steps],
  restarted: ["Steps since the restart"],
  rollback_upto: ["Checkpoint to go back to, at most step", stepText],
  score: ["Likeness as Fisher's z"],
  seam_size: ["Size of the gap", (value) => number(value, 3)],
  cause: ["Cause"],
  seam_step: ["Sign at step"],
  seam: ["Sign of a restart", (sign) => String(sign)],
  sequence: ["It is at collective"],
  share_of_step_lost: ["Share of each step lost", share],
  series: ["Series that do"],
  shares: ["Shares after", shares],
  shares_before: ["Shares before", shares],
  skip_from: ["Batches to skip, from step", stepText],
  skip_until: ["Batches to skip, to step", stepText],
  silent_seconds: ["Silent for"],
  hosts: ["Hosts", (hosts) => hosts.join(", ")],
  slower_by: ["Slower than its peers by", share],
  first_unseen_step: ["First unseen data at step"],
  source_step: ["Same data as from step"],
  source_attempt: ["Of attempt", String],
  strength: ["Strength, of 1 needed"],
  underreported: ["Loss reads too low by"],
  until_step: ["Same data until step"],
  value: ["Value"],
  waited_ms: ["Waited", (value) => duration(value / 1000)],
  waiting: ["Ranks that wait", (ranks) => ranks.join(", ")],
  wall_time: ["First at", clock],
  worst: ["Worst level", level],
};
const UNSAID = ["unit"]; // it stands beside the numbers

/**
 * What an incident's numbers are called, and what they are; those that say nothing are left out.
 * @param {IncidentView} incident @returns {[string, string][]}
 */
export function evidenceRows(incident) {
  return Object.entries(incident.evidence ?? {})
    .filter(([name, value]) => !UNSAID.includes(name) && !saysNothing(name, value))
    .filter(([name]) => !(name === "loss_scale_halvings" && "halvings" in incident.evidence)) // told of others
    .map(([name, value]) => [evidenceName(name), readingOf(name, value, incident)]);
}

/** @param {string} name @param {unknown} value */
function saysNothing(name, value) {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.length < (["metrics", "ranks"].includes(name) ? 2 : 1); // one is named above
  return name === "series" && value === 1;
}

/** The noise around the baseline, as the series is logged. @param {Pick<IncidentView, "kind" | "evidence">} incident @returns {number | null} */
export function noiseOf({ kind, evidence: { noise, baseline } }) {
  if (typeof noise !== "number" || typeof baseline !== "number") return null;
  return RELATIVE.includes(kind) ? noise * baseline : noise;
}

/** Is it shown by its raw name? @param {string} name */
export const isUnnamed = (name) => !(name in NAMES) && !UNSAID.includes(name);

/** @param {string} name */
const evidenceName = (name) => NAMES[name]?.[0] ?? sentence(name.replace(/_seconds$/, ""));

/** @param {string} name @param {unknown} value @param {IncidentView} incident */
function readingOf(name, value, incident) {
  const read = NAMES[name]?.[1];
  const readable = typeof value !== "string" || read === String || !/^-?(NaN|Infinity)$/.test(value);
  return read && readable ? read(value, incident) : evidenceText(name, value);
}

/** One number of the evidence, by what its name says it is. @param {string} name @param {unknown} value @returns {string} */
export function evidenceText(name, value) {
  if (value === null || value === undefined) return "not known";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value))
    return value.length ? value.map((one) => evidenceText(name, one)).join(", ") : "none";
  if (typeof value === "object")
    return Object.entries(value)
      .map(([key, one]) => `${sentence(key).toLowerCase()} ${evidenceText(key, one)}`)
      .join(", ");
  if (typeof value === "string" && !["NaN", "Infinity", "-Infinity"].includes(value)) return value;
  if (typeof value !== "number") return number(value);
  if (/_seconds$|_s$/.test(name) && !/per_s$/.test(name)) return duration(value);
  if (/^(drop|change|share|fraction|goodput)$|_(drop|share|fraction)$/.test(name)) return percent(value, 1);
  return Number.isInteger(value) ? stepText(value) : number(value);
}

/**
 * Another finding in words. Older versions stored a text instead of an object: it is shown as it is.
 * @param {any} found @returns {string}
 */
function referenceText(found) {
  if (typeof found !== "object" || found === null) return kindTitle(String(found));
  return `${kindTitle(found.kind)} at step ${stepText(found.start_step)} (${found.metric})`;
}

/** What another series did, or the run. @param {{ what: string, metric?: string, before?: unknown, value?: unknown, step: number }} found */
function precursorText({ what, before, value, step: at }) {
  const name = sentence(METRICS[what] ?? what);
  const change = value === undefined ? "" : ` from ${number(before, 3)} to ${number(value, 3)}`;
  return `${name}${change} at step ${stepText(at)}`;
}
