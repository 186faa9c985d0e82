// @ts-check
/** Formats numbers, units and times. Pure. */

const MINUS = "\u2212";
const THIN = "\u202f";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const clockFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const dateFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** A JSON value as a number; null and other text become NaN. @param {unknown} value */
export function numeric(value) {
  if (typeof value === "number") return value;
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  return NaN;
}

const DIGITS = 4;
const DIGITS_OF_SMALL = 3; // with an exponent

/**
 * A number with as many significant digits as wanted: 2.307, 0.0412, 3.00e−4, 1,204,000.
 * @param {unknown} value @param {number} [wanted]
 */
export function number(value, wanted) {
  const digits = wanted ?? DIGITS;
  const x = numeric(value);
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  if (x === 0) return "0";
  const size = Number(Math.abs(x).toPrecision(digits)); // 0.9996 has the decimals of 1.000
  if (size < 1e-3) return signed(x.toExponential((wanted ?? DIGITS_OF_SMALL) - 1));
  if (size >= 1000 && (size >= 10 ** (digits - 1) || Number.isInteger(x))) return signed(grouped.format(x));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const places = Math.min(decimals, Math.max(6, digits));
  const style = { minimumFractionDigits: places, maximumFractionDigits: places };
  return signed(size >= 1000 ? x.toLocaleString("en-US", style) : x.toFixed(places));
}

const MOST_DIGITS = 12;

/**
 * Numbers that are compared, each with as many significant digits as it takes to see that it differs from the one
 * before: 0.123457 and 0.123461.
 * @param {number[]} values @param {number} [digits] the fewest
 */
export function numbersApart(values, digits = 3) {
  const needed = values.slice(1).map((value, i) => digitsApart(values[i], value));
  const most = Math.min(MOST_DIGITS, Math.max(digits, ...needed));
  return values.map((value) => number(value, most));
}

/** The significant digits in which two numbers differ by more than a rounding. @param {number} first @param {number} second */
function digitsApart(first, second) {
  const difference = Math.abs(second - first);
  if (!(difference > 0) || !Number.isFinite(difference)) return 0;
  const size = Math.max(Math.abs(first), Math.abs(second));
  return Math.floor(Math.log10(size)) - Math.floor(Math.log10(difference / 2)) + 1;
}

/** @param {string} text */
const signed = (text) => text.replace(/-/g, MINUS);

/** With an SI suffix: 28.9k, 1.20M. @param {unknown} value @param {number} [digits] */
export function si(value, digits = 3) {
  const x = numeric(value);
  const size = Math.abs(x);
  if (!Number.isFinite(x) || size < 1000) return number(x, digits);
  const rounded = Number(x.toPrecision(digits));
  const power = Math.min(4, Math.floor(Math.log10(Math.abs(rounded)) / 3 + 1e-9));
  const scaled = rounded / 1000 ** power;
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(scaled)) + 1e-9));
  return signed(scaled.toFixed(decimals)) + ["", "k", "M", "G", "T"][power];
}

/** A step: 12,400. @param {number | null | undefined} value */
export const step = (value) => (value === null || value === undefined ? "–" : grouped.format(value));

/** A count with its noun. @param {number} n @param {string} word @param {string} [plural] */
export const count = (n, word, plural = `${word}s`) => `${grouped.format(n)} ${n === 1 ? word : plural}`;

/** A share as a percentage: 0.934 is 93 %. @param {number | null} share @param {number} [decimals] */
export const percent = (share, decimals = 0) =>
  share === null ? "–" : `${(100 * share).toFixed(decimals)}${THIN}%`;

/** A duration with its two largest units: 3 d 4 h, 2 h 10 min, 45 s. @param {number | null} seconds */
export function duration(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, seconds);
  if (s < 1) return `${Math.round(1000 * s)}${THIN}ms`;
  if (s < 10) return `${s.toFixed(1)}${THIN}s`;
  if (s < 60) return `${Math.round(s)}${THIN}s`;
  if (s < 3600) return pair(s / 60, "min", s % 60, "s");
  if (s < 86400) return pair(s / 3600, "h", (s % 3600) / 60, "min");
  return pair(s / 86400, "d", (s % 86400) / 3600, "h");
}

/** @param {number} big @param {string} unit @param {number} small @param {string} smaller */
function pair(big, unit, small, smaller) {
  const rest = Math.floor(small);
  return `${Math.floor(big)}${THIN}${unit}${rest > 0 && big < 48 ? ` ${rest}${THIN}${smaller}` : ""}`;
}

/** The time since a moment: 5 min ago. @param {number | null} time @param {number} [now] both Unix seconds */
export function ago(time, now = Date.now() / 1000) {
  if (time === null) return "–";
  const s = now - time;
  if (s < 5) return "now";
  if (s < 60) return `${Math.floor(s)}${THIN}s ago`;
  if (s < 3600) return `${Math.floor(s / 60)}${THIN}min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)}${THIN}h ago`;
  if (s < 30 * 86400) return `${Math.floor(s / 86400)}${THIN}d ago`;
  return dateFormat.format(time * 1000);
}

/** A moment in the reader's time zone. @param {number | null} time Unix seconds */
export const clock = (time) => (time === null ? "–" : clockFormat.format(time * 1000));

const timeFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const weekdayFormat = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

/** The time of day of a moment: 14:03. @param {number} time Unix seconds */
export const timeOfDay = (time) => timeFormat.format(time * 1000);

/** The day of a moment: Today, Yesterday, Monday 3 November, 3 Nov 2025. @param {number} time @param {number} [now] both Unix seconds */
export function day(time, now = Date.now() / 1000) {
  const midnight = (/** @type {number} */ at) => new Date(at * 1000).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(now) - midnight(time)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return days > 0 && days < 300 ? weekdayFormat.format(time * 1000) : dateFormat.format(time * 1000);
}

const COUNTS = ["faults", "sequence", "skipped_steps", "batch_size", "loss_scale"];

/** A value formatted for its role, without unit: an MFU as it is logged, since its unit need not be known. @param {string} role @param {unknown} value */
export function reading(role, value) {
  if (role === "throughput" || role === "memory") return si(value);
  if (role === "mfu") return number(value, 3);
  if (role === "learning_rate") return number(value, 3);
  if (COUNTS.includes(role) && Number.isInteger(value)) return number(value, 1);
  return number(value);
}

/** The time of a step with its unit, "ms" or "s"; long times in seconds. @param {unknown} value @param {string} unit */
export function stepTime(value, unit) {
  const long = unit === "ms" && Math.abs(numeric(value)) >= 10_000;
  return long ? [number(numeric(value) / 1000), "s"] : [number(value), unit];
}

/** `loss` or `step_time{rank=3}`. @param {{ metric: string, labels: Record<string, unknown> }} series */
export function seriesName({ metric, labels }) {
  const inside = Object.entries(labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
  return inside ? `${metric}{${inside}}` : metric;
}

/** `recovery_steps` as "Recovery steps". @param {string} name */
export function sentenceCase(name) {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
