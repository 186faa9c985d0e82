// @ts-check
/** Creates and finds elements. Data becomes text nodes, never markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Properties
 */

/**
 * Create an HTML element. `on` has event listeners, `data` the dataset, `style` CSS properties; other
 * properties are attributes. Null, undefined and false are left out, true is an attribute without a value.
 * @param {string} tag @param {Properties} [properties] @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, properties, children);
  return element;
}

/**
 * Create an SVG element.
 * @param {string} tag @param {Properties} [properties] @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  fill(element, properties, children);
  return element;
}

/** @param {HTMLElement | SVGElement} element @param {Properties} properties @param {(Child | Child[])[]} children */
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on")
      for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style")
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, String(text));
    else element.setAttribute(name, value === true ? "" : name === "title" ? visible(String(value)) : String(value));
  }
  put(element, ...children);
}

/**
 * The text with visible escapes for control characters and for marks and overrides of direction, which would
 * let a name or a line of a log look like another. Line breaks and tabs stay.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(
    /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Append children except null, undefined and false. @param {Element} parent @param {...(Child | Child[])} children */
export function put(parent, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : visible(String(child)));
  }
}

/** Replace all children. @param {Element} parent @param {...(Child | Child[])} children */
export function refill(parent, ...children) {
  parent.replaceChildren();
  put(parent, ...children);
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element #${id}`);
  return element;
}

/** A link within the app; the router handles the click. @param {string} href @param {Properties} properties @param {...(Child | Child[])} children */
export function link(href, properties, ...children) {
  return h("a", { href, ...properties }, ...children);
}

/** Announce a text to screen readers without moving the focus. @param {string} text */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** A long name as code, which may be wrapped after its separators. @param {string} name @param {string} [className] */
export const codeName = (name, className) =>
  h(
    "code",
    { class: className ?? null },
    name.split(/(?<=[._|/,])(?=[^._|/,])/).flatMap((part, at) => (at ? [h("wbr"), part] : [part])),
  );

/** A command line with a copy button. @param {string} text */
export const copyLine = (text) => copyable(h("code", {}, text), text, "copy-line");

/** Several lines to copy. @param {string} text */
export const copyBlock = (text) =>
  copyable(h("pre", { class: "example", tabindex: 0 }, h("code", {}, text)), text, "copy-block");

/** @param {HTMLElement} shown @param {string} text @param {string} name of the class */
function copyable(shown, text, name) {
  const button = h("button", { type: "button", class: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(/** @type {Node} */ (button.previousElementSibling)); // browsers allow no clipboard access without https
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return h("div", { class: name }, shown, button);
}

/** Whether the page is shown by a share link, which permits reading it and nothing else. */
export const isReadOnly = () => document.documentElement.dataset.readOnly !== undefined;
