// @ts-check
/** Swipes to the left or right by touch. Elements need `touch-action: pan-y`, so that the page still scrolls. */

const DISTANCE = 60; // pixels
const STEEPNESS = 2; // how much farther across than down

/** @param {HTMLElement} element @param {AbortSignal} signal @param {(direction: "left" | "right", start: Element) => void} onSwipe */
export function listenToSwipes(element, signal, onSwipe) {
  /** @type {{ x: number, y: number, target: Element } | null} */
  let start = null;
  element.style.touchAction = "pan-y";
  element.addEventListener(
    "pointerdown",
    (event) => {
      const target = /** @type {Element} */ (event.target);
      const isOwn = target.closest(".plot, .strip-pane, input, textarea, .segmented") !== null; // drags of their own
      start = event.pointerType === "touch" && !isOwn ? { x: event.clientX, y: event.clientY, target } : null;
    },
    { signal },
  );
  element.addEventListener("pointercancel", () => (start = null), { signal });
  element.addEventListener(
    "pointerup",
    (event) => {
      if (!start) return;
      const [across, down] = [event.clientX - start.x, event.clientY - start.y];
      const { target } = start;
      start = null;
      if (Math.abs(across) < DISTANCE || Math.abs(across) < STEEPNESS * Math.abs(down)) return;
      onSwipe(across < 0 ? "left" : "right", target);
    },
    { signal },
  );
}
