/** Trims Unicode white space, like `String.prototype.trim` but including U+0085 (next line). */
export function trimText(text: string): string {
  const trimmed = text.trim();
  if (trimmed.charCodeAt(0) !== 0x85 && trimmed.charCodeAt(trimmed.length - 1) !== 0x85) return trimmed;
  // Not a regular expression: `\s+$` has quadratic time on inner spaces.
  const isSpace = (at: number) => trimmed[at] === '\u0085' || trimmed[at]!.trim() === '';
  let start = 0;
  let end = trimmed.length;
  while (start < end && isSpace(start)) start++;
  while (end > start && isSpace(end - 1)) end--;
  return trimmed.slice(start, end);
}

/** Normalizes a text to compare headers and words. */
export const comparable = (text: string) => trimText(text).toLowerCase();

/** Tells whether `text` has more than `max` code points. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _ of text) if (++count > max) return true;
  return false;
}

/** Copies a text: in V8 a slice retains the whole text. */
export function ownText(text: string): string {
  // A browser has no Buffer, and checks few rows.
  return typeof Buffer === 'undefined' ? text : Buffer.from(text).toString();
}

/** Shortens a text to `max` characters and an ellipsis, and shows NUL, which PostgreSQL refuses, as U+2400. */
export function shorten(text: string, max: number): string {
  const cut = isLongerThan(text, max) ? `${[...text.slice(0, 2 * max)].slice(0, max).join('')}…` : text;
  return cut.replaceAll('\0', '\u2400');
}
