// @ts-check
/** What this browser remembers: the theme, smoothing, log or linear per metric. Works without storage too. */

/** @type {Map<string, string>} */
const memory = new Map();

/** @param {string} name @param {string} fallback */
export function get(name, fallback) {
  try {
    return localStorage.getItem(`holter.${name}`) ?? memory.get(name) ?? fallback;
  } catch {
    return memory.get(name) ?? fallback;
  }
}

/** @param {string} name @param {string} value */
export function set(name, value) {
  memory.set(name, value);
  try {
    localStorage.setItem(`holter.${name}`, value);
  } catch {
    // storage is full or forbidden: it holds until the page is left
  }
}

/** The theme in force: what was chosen, or the system's. @returns {"light" | "dark"} */
export function theme() {
  const chosen = get("theme", "auto");
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Put the theme on the page and tell those who draw. */
export function applyTheme() {
  document.documentElement.dataset.theme = theme();
  document.dispatchEvent(new CustomEvent("holter:theme"));
}

/** @param {string} metric @param {boolean} on */
export const rememberLog = (metric, on) => set(`log.${metric}`, on ? "log" : "linear");

/**
 * How this browser looked at such charts before, as an address says it.
 * @param {string[]} metrics of the charts @returns {{ smooth: string | null, log: string[] }}
 */
export function rememberedLook(metrics) {
  const smooth = get("smoothing", "0");
  return {
    smooth: Number(smooth) > 0 ? smooth : null,
    log: metrics.filter((metric) => get(`log.${metric}`, "") === "log"),
  };
}
