/**
 * Trims Unicode white space. `String.prototype.trim` does, but for U+0085 (next line).
 */
export function trimText(text: string): string {
  const trimmed = text.trim();
  if (trimmed.charCodeAt(0) !== 0x85 && trimmed.charCodeAt(trimmed.length - 1) !== 0x85) return trimmed;
  // No regular expression: one that looks for white space before the end begins anew at each space amid the text.
  const isSpace = (at: number) => trimmed[at] === '\u0085' || trimmed[at]!.trim() === '';
  let start = 0;
  let end = trimmed.length;
  while (start < end && isSpace(start)) start++;
  while (end > start && isSpace(end - 1)) end--;
  return trimmed.slice(start, end);
}

/** Whether `text` has more than `max` characters, counted as code points. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _ of text) if (++count > max) return true;
  return false;
}

/** A copy of the text that shares no memory with another one: a part of a text keeps all of it. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** A text for a report: at most `max` characters and an ellipsis, with NUL (which PostgreSQL refuses) as a visible sign. */
export function shorten(text: string, max: number): string {
  const cut = isLongerThan(text, max) ? `${[...text.slice(0, 2 * max)].slice(0, max).join('')}…` : text;
  return cut.replaceAll('\0', '\u2400');
}
