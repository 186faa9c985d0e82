// @ts-check
/** Fuzzy search: how well a text contains the letters of a query, in their order. Pure. */

const WORD_START = 8;
const CONSECUTIVE = 5;
const FIRST_LETTER = 6;
const GAP = 0.15; // for each skipped letter

/**
 * The score of a text for a query: larger is better; null if a letter is missing. Words of the query match
 * independently. Matches at the beginning of words and of consecutive letters count more.
 * @param {string} query @param {string} text @returns {number | null}
 */
export function fuzzyScore(query, text) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  let total = 0;
  for (const word of words) {
    const score = wordScore(word, text.toLowerCase());
    if (score === null) return null;
    total += score;
  }
  return total - 0.01 * text.length;
}

/** @param {string} word @param {string} text */
function wordScore(word, text) {
  const whole = text.indexOf(word);
  if (whole >= 0) return CONSECUTIVE * word.length + (startsWord(text, whole) ? WORD_START : 0) + (whole === 0 ? FIRST_LETTER : 0);
  let score = 0;
  let at = -1;
  for (const letter of word) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return null;
    if (next === at + 1 && at >= 0) score += CONSECUTIVE;
    else score -= GAP * (next - at - 1);
    if (startsWord(text, next)) score += WORD_START / 2;
    at = next;
  }
  return score > 0 ? score : null; // letters scattered over the text are no match
}

/** @param {string} text @param {number} index */
const startsWord = (text, index) => index === 0 || /[\s/_.\-:]/.test(text[index - 1]);

/**
 * The best matches, at most `limit`; without a query the first ones.
 * @template T @param {string} query @param {T[]} items @param {(item: T) => string} textOf @param {number} limit @returns {T[]}
 */
export function fuzzyFind(query, items, textOf, limit) {
  if (!query.trim()) return items.slice(0, limit);
  return items
    .map((item, index) => ({ item, index, score: fuzzyScore(query, textOf(item)) }))
    .filter((match) => match.score !== null)
    .sort((a, b) => Number(b.score) - Number(a.score) || a.index - b.index)
    .slice(0, limit)
    .map(({ item }) => item);
}
