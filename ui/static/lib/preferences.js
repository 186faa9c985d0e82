// @ts-check
/** Preferences of this browser: theme, smoothing, logarithmic axes. Without local storage they last until reload. */

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
    // storage is full or blocked: the value lasts until the page is reloaded
  }
}

/** The current theme: the chosen one, or the system's; on paper the light one. @returns {"light" | "dark"} */
export function theme() {
  if (matchMedia("print").matches) return "light";
  const chosen = get("theme", "auto");
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Set the theme of the page and notify the charts. */
export function applyTheme() {
  document.documentElement.dataset.theme = theme();
  document.dispatchEvent(new CustomEvent("holter:theme"));
}

/** @param {string} metric @param {boolean} on */
export const storeLogMode = (metric, on) => set(`log.${metric}`, on ? "log" : "linear");

/**
 * The preferences for some charts as query parameters of an address.
 * @param {string[]} metrics of the charts @returns {{ smooth: string | null, log: string[] }}
 */
export function storedViewOptions(metrics) {
  const smooth = get("smoothing", "0");
  return {
    smooth: Number(smooth) > 0 ? smooth : null,
    log: metrics.filter((metric) => get(`log.${metric}`, "") === "log"),
  };
}
