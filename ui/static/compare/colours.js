// @ts-check
/** The colours of compared runs: those of series for few, evenly spread hues for more. Pure. */

const OWN = 8; // series colours in tokens.css
const GOLDEN_ANGLE = 137.508; // degrees between successive hues, so that neighbours differ

/** The colour of the i-th run. @param {number} i @param {number} total @param {Record<string, string>} palette @param {boolean} dark */
export function runColour(i, total, palette, dark) {
  if (total <= OWN) return palette[`series-${i + 1}`];
  return hexOfHsl((210 + i * GOLDEN_ANGLE) % 360, 0.55, dark ? 0.7 : 0.4);
}

/** @param {number} hue degrees @param {number} saturation @param {number} lightness @returns {string} "#rrggbb" */
export function hexOfHsl(hue, saturation, lightness) {
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  const channel = (/** @type {number} */ n) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}
