// @ts-check
/** Parts below the first screen: what they ask the server for waits until somebody may want to see them. */

const MARGIN = "75%"; // of the height of the window, below and above it
const LATEST = 5000; // ms after which it is fetched all the same: for the search of the browser

/**
 * Call back once: when the element comes near the visible part of the page, before the page is printed, or after a while.
 * @param {Element} element it may have no height yet @param {AbortSignal} signal @param {() => void} callback
 */
export function whenNear(element, signal, callback) {
  const done = new AbortController();
  const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && call(), {
    rootMargin: `${MARGIN} 0px`,
  });
  const timer = setTimeout(call, LATEST);
  observer.observe(element);
  window.addEventListener("beforeprint", call, { signal: done.signal });
  signal.addEventListener("abort", stop, { signal: done.signal });

  function stop() {
    clearTimeout(timer);
    observer.disconnect();
    done.abort();
  }

  function call() {
    stop();
    callback();
  }
}
