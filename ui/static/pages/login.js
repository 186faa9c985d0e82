// @ts-check
/** The login page of a server with a password. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

/**
 * The path to open after the login: never on another site, nor the login page.
 *
 * The browser's own parser decides what the address is: it skips tabs and line breaks, and reads a backslash
 * as a slash, so that a pattern would let some addresses of other sites pass.
 *
 * @param {string | null} wanted @param {string} [origin]
 */
export function safeNext(wanted, origin = location.origin) {
  if (!wanted?.startsWith("/") || !URL.canParse(wanted, origin)) return "/";
  const address = new URL(wanted, origin);
  const path = address.pathname + address.search + address.hash;
  const foreign = address.origin !== origin || /^[/\\]{2}/.test(path);
  return foreign || address.pathname === "/login" ? "/" : path;
}

/** @type {import("../lib/router.js").Page} */
export async function show(root, { query, title }) {
  title("Log in");
  const password = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "password",
      id: "password",
      name: "password",
      autocomplete: "current-password",
      required: true,
      class: "field",
    })
  );
  const wrong = h("p", { class: "form-error", role: "alert" });
  const button = h("button", { type: "submit", class: "button button-strong" }, "Log in");

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    button.toggleAttribute("disabled", true);
    refill(wrong);
    try {
      await api.logIn(password.value);
      location.assign(safeNext(query().get("next")));
    } catch (error) {
      refill(wrong, /** @type {Error} */ (error).message);
      button.toggleAttribute("disabled", false);
      password.select();
    }
  }

  refill(
    root,
    h(
      "form",
      { class: "login", on: { submit } },
      h("h1", {}, icon("pulse"), "Holter"),
      h("p", { class: "quiet" }, "This server requires a password. Ask its administrator."),
      h("label", { for: "password" }, "Password"),
      password,
      wrong,
      button,
    ),
  );
  requestAnimationFrame(() => password.focus());
}
