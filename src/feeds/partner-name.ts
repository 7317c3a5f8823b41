import type { ShapeError } from '../errors';
import { isLongerThan } from '../etl/text';

const charactersMax = 255;

/**
 * The name of a partner as a form sends it, trimmed.
 * @returns the name, or what is wrong with it
 */
export function parsePartnerName(text: string): string | ShapeError {
  const name = text.trim();
  const wrong = (type: string, msg: string, ctx: Record<string, unknown>): ShapeError => ({
    type,
    loc: ['body', 'partner_name'],
    msg,
    input: text,
    ctx,
  });
  if (name === '') {
    return wrong('string_too_short', 'String should have at least 1 character', { min_length: 1 });
  }
  if (isLongerThan(name, charactersMax)) {
    return wrong('string_too_long', `String should have at most ${charactersMax} characters`, {
      max_length: charactersMax,
    });
  }
  if (/\p{Cc}/u.test(name)) {
    const pattern = String.raw`^[^\u0000-\u001F\u007F-\u009F]*$`;
    return wrong('string_pattern_mismatch', `String should match pattern '${pattern}'`, { pattern });
  }
  return name;
}
