// @ts-check
/** Routing: which page an address shows, its query, and navigation between pages. */

import { h, refill } from "./dom.js";
import { errorMessage, skeleton } from "./placeholders.js";

/**
 * @typedef {{ params: string[], signal: AbortSignal, query: () => URLSearchParams,
 *   setQuery: (changes: Record<string, string | string[] | null>, options?: { push?: boolean | string }) => void,
 *   onQuery: (listener: () => void) => void,
 *   title: (text: string) => void,
 *   search: (options: { label: string, value?: string, onInput: (text: string) => void,
 *     onKey?: (event: KeyboardEvent) => void }) => HTMLInputElement }} PageContext
 * @typedef {(root: HTMLElement, context: PageContext) => Promise<void>} Page
 */

const SKELETON_AFTER = 300; // ms: with shorter loading times a skeleton would only flash

/** @type {[RegExp, string][]} */
const ROUTES = [
  [/^\/$/, "overview"],
  [/^\/runs\/([^/]+)$/, "run"],
  [/^\/compare$/, "compare"],
  [/^\/incidents$/, "inbox"],
  [/^\/incidents\/([^/]+)$/, "incident"],
  [/^\/planned$/, "planned"],
  [/^\/alerts$/, "alerts"],
  [/^\/settings$/, "settings"],
  [/^\/login$/, "login"],
];

/** The page of a path and its parameters. Pure. @param {string} path */
export function match(path) {
  for (const [pattern, name] of ROUTES) {
    const matched = pattern.exec(path);
    if (matched) return { name, params: matched.slice(1).map(decodeURIComponent) };
  }
  return { name: "missing", params: [path] };
}

/** @type {Record<string, Page>} */
let pages = {};
/** @type {(parts: { name: string, signal: AbortSignal }) => Pick<PageContext, "search" | "title">} */
let frame;
let currentPage = new AbortController();
let shownPath = "";
let lastPush = ""; // the name of the newest entry of the history, if it has one: others of that name replace it
/** @type {Set<() => void>} */
const queryListeners = new Set();

/** @param {Record<string, Page>} table @param {typeof frame} makeFrame */
export function start(table, makeFrame) {
  pages = table;
  frame = makeFrame;
  history.scrollRestoration = "manual";
  document.addEventListener("click", followLink);
  addEventListener("popstate", () => {
    lastPush = "";
    if (location.pathname === shownPath) queryListeners.forEach((listener) => listener());
    else void show(history.state?.scroll ?? 0);
  });
  void show(0);
}

/** @param {MouseEvent} event */
function followLink(event) {
  const anchor = /** @type {HTMLElement} */ (event.target).closest?.("a");
  if (!anchor || event.defaultPrevented || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const internal = anchor.origin === location.origin && !anchor.target && !anchor.hasAttribute("download");
  if (!internal || match(anchor.pathname).name === "missing" || anchor.hash) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}

/** @param {string} address @param {{ replace?: boolean }} [options] */
export function go(address, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", address);
  else {
    history.replaceState({ scroll: scrollY }, "");
    history.pushState(null, "", address);
  }
  void show(0);
}

/** @param {number} scroll the scroll position to restore */
async function show(scroll) {
  lastPush = "";
  currentPage.abort();
  currentPage = new AbortController();
  queryListeners.clear();
  const { signal } = currentPage;
  const { name, params } = match(location.pathname);
  const here = location.pathname;
  const page = h("main", { class: `page page-${name}`, id: "page", tabindex: -1 });
  const first = shownPath === "";
  shownPath = here;
  const attach = () => {
    if (page.isConnected || signal.aborted) return;
    refill(/** @type {HTMLElement} */ (document.getElementById("page-slot")), page);
    scrollTo(0, scroll);
    if (!first) page.focus({ preventScroll: true });
  };
  const timer = setTimeout(() => {
    if (page.childElementCount === 0) refill(page, skeleton()); // not over what it already shows
    attach();
  }, SKELETON_AFTER);
  try {
    await pages[name](page, { ...context(signal), ...frame({ name, signal }), params });
  } catch (error) {
    if (signal.aborted) return;
    refill(
      page,
      errorMessage(/** @type {Error & { status?: number }} */ (error), () => void show(0)),
    );
  } finally {
    clearTimeout(timer);
  }
  attach();
  scrollTo(0, scroll);
}

/** @param {AbortSignal} signal */
function context(signal) {
  return {
    signal,
    query: () => new URLSearchParams(location.search),
    /** @type {PageContext["setQuery"]} */
    setQuery(changes, { push = false } = {}) {
      if (signal.aborted) return;
      const query = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(changes)) {
        query.delete(name);
        for (const item of [value].flat()) if (item !== null && item !== "") query.append(name, item);
      }
      const address = location.pathname + (query.size ? `?${query}` : "");
      if (address === location.pathname + location.search) return;
      const repeated = typeof push === "string" && push === lastPush;
      if (push) lastPush = typeof push === "string" ? push : "";
      if (push && !repeated) history.pushState(null, "", address);
      else history.replaceState(history.state, "", address);
    },
    /** @param {() => void} listener */
    onQuery: (listener) => void queryListeners.add(listener),
  };
}
