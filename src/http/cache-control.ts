/**
 * How old an answer a client takes, in seconds, by the header `Cache-Control` of its request (RFC 9111, section 5.2.1): 0
 * with `no-cache`, Infinity when it does not say. Other directives are ignored.
 */
export function ageSecondsMaxOf({ 'Cache-Control': header }: { 'Cache-Control'?: string }): number {
  if (header === undefined) return Infinity;
  let seconds = Infinity;
  for (const directive of header.split(',')) {
    if (/^\s*no-cache\s*$/i.test(directive)) return 0;
    const [, given] = /^\s*max-age\s*=\s*"?(\d{1,9})"?\s*$/i.exec(directive) ?? [];
    if (given !== undefined) seconds = Math.min(seconds, Number(given));
  }
  return seconds;
}
