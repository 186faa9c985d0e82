// @ts-check
/** The icon in the browser's tab: the health strip as a mark, with a tick in the colour of the worst incident. */

/** Colours that are legible on light and dark tab bars. @type {Record<string, string>} */
const TICKS = { critical: "#e0443f", warning: "#d9921f", ok: "#3d9c68" };

/** The icon for a health as SVG: two attempts with a gap, the line of the strip, and a tick. Pure. @param {string} health */
export function faviconSvg(health) {
  const tick = TICKS[health] ?? TICKS.ok;
  const mark =
    health === "ok"
      ? `<path d="M4 17h6l3-8 5 14 4-10 2 4h4" fill="none" stroke="${tick}" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/>`
      : `<path d="M4 19h7l2-5 3 8h3" fill="none" stroke="#8fa3b8" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/><rect x="20" y="4" width="6" height="24" rx="3" fill="${tick}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#14202e"/>${mark}</svg>`;
}

/** Show a health in the tab. @param {string} health "ok", "warning" or "critical" */
export function showFavicon(health) {
  const link = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel="icon"]'));
  if (!link || link.dataset.health === health) return;
  link.dataset.health = health;
  link.href = `data:image/svg+xml,${encodeURIComponent(faviconSvg(health))}`;
}
