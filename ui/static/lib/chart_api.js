// @ts-check
/** Requests for charts beyond those of one run's curves: comparisons, heat maps, the plotting library. */

import { ApiError } from "./api.js";

/** The source of the plotting library. @param {string} address @returns {Promise<string>} */
export async function plottingLibrary(address) {
  const response = await fetch(address);
  if (!response.ok) throw new ApiError(response.status, "The plotting library could not be loaded.");
  return response.text();
}
