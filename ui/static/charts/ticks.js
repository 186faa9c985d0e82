// @ts-check
/** Positions and labels of the ticks of an axis: values, logarithms, steps, wall time, durations. Pure. */

const MINUS = "\u2212";
const THIN = "\u202f";
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CLOCK_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
];
const PREFIXES = ["", "k", "M", "G", "T", "P"];
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const hourFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const secondFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** @typedef {{ at: number, text: string }} Tick `at`: in the units of the axis (log10 on a logarithmic one) */

/** The smallest of 1, 2, 5, 10, 20 … that is not below a value. @param {number} value */
export function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const lead = value / power;
  const factor = lead <= 1.0001 ? 1 : lead <= 2.0001 ? 2 : lead <= 5.0001 ? 5 : 10;
  return factor * power;
}

/** Multiples of `step` from `low` to `high`. @param {number} low @param {number} high @param {number} step */
function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, Math.min(200, last - first + 1)) }, (_, i) => (first + i) * step);
}

/**
 * Round values, at most about `count`, but two where that is less: one tick tells no scale.
 * @param {number} low @param {number} high @param {number} count @returns {Tick[]}
 */
export function valueTicks(low, high, count) {
  if (!(high > low)) return [];
  let step = niceStep((high - low) / Math.max(1, count));
  while (multiples(low, high, step).length < 2) step = niceStep(step / 2.5);
  const ticks = multiples(low, high, step);
  return ticks.map((at) => ({ at, text: valueText(at, step, Math.max(Math.abs(low), Math.abs(high))) }));
}

/** A tick's value: no more digits than its distance to the next tick needs. @param {number} value @param {number} step @param {number} size the largest value of the axis */
export function valueText(value, step, size) {
  if (Math.abs(value) < step / 1e6) return "0";
  if (size >= 10_000) {
    const power = Math.min(PREFIXES.length - 1, Math.floor(Math.log10(size) / 3));
    return signed(fixed(value / 1000 ** power, step / 1000 ** power)) + PREFIXES[power];
  }
  if (size < 1e-3) {
    const power = Math.floor(Math.log10(size));
    return signed(`${fixed(value / 10 ** power, step / 10 ** power)}e${power}`);
  }
  return signed(fixed(value, step));
}

/** @param {number} value @param {number} step */
const fixed = (value, step) =>
  value.toFixed(Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9))));

/** @param {string} text */
const signed = (text) => text.replace(/-/g, MINUS);

/** Powers of ten, with 2 and 5 between them where there is room. @param {number} low @param {number} high of the logarithms @param {number} count @returns {Tick[]} */
export function logTicks(low, high, count) {
  if (!(high > low)) return [];
  if (high - low < 0.7) {
    const [from, to] = [10 ** low, 10 ** high];
    return valueTicks(from, to, count).flatMap(({ at, text }) =>
      at > 0 ? [{ at: Math.log10(at), text }] : [],
    );
  }
  const every = Math.max(1, Math.ceil((high - low) / Math.max(1, count)));
  const factors = high - low <= 2.2 ? [1, 2, 5] : [1];
  const powers = multiples(Math.floor(low), high, 1).filter((power) => power % every === 0);
  return powers
    .flatMap((power) => factors.map((factor) => ({ at: power + Math.log10(factor), value: factor * 10 ** power })))
    .filter(({ at }) => at >= low - 1e-9 && at <= high + 1e-9)
    .map(({ at, value }) => ({ at, text: powerText(value) }));
}

/** @param {number} value */
function powerText(value) {
  if (value >= 1e4 || value < 1e-3) {
    const power = Math.floor(Math.log10(value) + 1e-9);
    if (value >= 1e4 && power < 15) return valueText(value, value, value);
    return signed(`${Math.round(value / 10 ** power)}e${power}`);
  }
  return String(Number(value.toPrecision(1)));
}

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** Whole numbers. @param {number} low @param {number} high @param {number} count @returns {Tick[]} */
export function stepTicks(low, high, count) {
  if (!(high > low)) return [];
  const step = Math.max(1, niceStep((high - low) / Math.max(1, count)));
  const size = Math.max(Math.abs(low), Math.abs(high));
  const short = size >= 20_000 && step >= 500;
  return multiples(low, high, step).map((at) => ({
    at,
    text: short ? valueText(at, step, size) : signed(grouped.format(at)),
  }));
}

/**
 * Moments in the reader's time zone. The date stands at the first tick and where the day changes, and the hour
 * at every tick, unless ticks are days apart.
 * @param {number} low @param {number} high milliseconds @param {number} count @returns {Tick[]}
 */
export function clockTicks(low, high, count) {
  if (!(high > low)) return [];
  const step = CLOCK_STEPS.find((each) => (high - low) / each <= count) ?? CLOCK_STEPS[CLOCK_STEPS.length - 1];
  const ticks = step >= DAY ? days(low, high, step / DAY) : withinDays(low, high, step);
  let day = "";
  return ticks.map((at) => {
    const date = dayFormat.format(at);
    const isNew = date !== day;
    day = date;
    if (step >= DAY) return { at, text: date };
    const hour = (step < MINUTE ? secondFormat : hourFormat).format(at);
    const midnight = /^00:00(:00)?$/.test(hour);
    return { at, text: isNew ? (midnight ? date : `${date} ${hour}`) : hour };
  });
}

/** Midnights, `every` days apart. @param {number} low @param {number} high @param {number} every */
function days(low, high, every) {
  const moment = new Date(low);
  moment.setHours(0, 0, 0, 0);
  const ticks = [];
  for (; moment.getTime() <= high && ticks.length < 200; moment.setDate(moment.getDate() + every))
    if (moment.getTime() >= low) ticks.push(moment.getTime());
  return ticks;
}

/** @param {number} low @param {number} high @param {number} step */
function withinDays(low, high, step) {
  const midnight = new Date(low).setHours(0, 0, 0, 0);
  return multiples(low - midnight, high - midnight, step).map((offset) => midnight + offset);
}

const UNITS = /** @type {[number, string][]} */ ([
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
]);

/** Durations. @param {number} low @param {number} high seconds @param {number} count @returns {Tick[]} */
export function durationTicks(low, high, count) {
  if (!(high > low)) return [];
  const wanted = (high - low) / Math.max(1, count);
  const step = wanted < 1 ? niceStep(wanted) : (CLOCK_STEPS.find((each) => each / 1000 >= wanted) ?? 0) / 1000;
  const usable = step || niceStep(wanted / 86_400) * 86_400;
  const [size, unit] = UNITS.find(([seconds]) => usable >= seconds) ?? [1, "s"];
  return multiples(low, high, usable).map((at) => ({
    at,
    text: Math.abs(at) < usable / 1e6 ? "0" : `${signed(fixed(at / size, Math.min(1, usable / size)))}${THIN}${unit}`,
  }));
}
