// @ts-check
/** The name of the person at this browser, which is stored with the first comment. */

import * as prefs from "../lib/preferences.js";

/** The field of a request that names the person; empty if the name is not known. @returns {{ by?: string }} */
export function author() {
  const by = prefs.get("name", "");
  return by ? { by } : {};
}
