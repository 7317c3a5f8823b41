import document from '../../../generated/openapi.json';
import type { ShapeError } from '../../base/errors';
import { isLongerThan } from '../../feed-format/text';

const { maxLength: charactersMax, pattern } = document.components.schemas.PartnerName;
const allowed = new RegExp(pattern, 'u');

/** Names that a path cannot contain: clients interpret them as relative segments (RFC 3986, section 5.2.4). */
const reservedNames: readonly string[] = ['.', '..'];

/** Returns the error of a reserved name, which the document's pattern admits. @param input - as sent */
export function reservedNameError(name: string, input: unknown): ShapeError | undefined {
  if (!reservedNames.includes(name)) return undefined;
  const msg = "Input should not be '.' or '..'";
  return { type: 'reserved_name', loc: ['body', 'partner_name'], msg, input };
}

/**
 * Validates the partner name of a path or a command, trimmed, by the document's rule for bodies.
 * @returns the name, or the error
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
  if (!allowed.test(name)) {
    return wrong('string_pattern_mismatch', `String should match pattern '${pattern}'`, { pattern });
  }
  return reservedNameError(name, text) ?? name;
}

/** Returns the errors of the partner name of a path, at most one. @param text - '' if it is absent */
export function partnerNameFaults(text = ''): ShapeError[] {
  const name = parsePartnerName(text);
  return typeof name === 'string' ? [] : [{ ...name, loc: ['path', 'partner_name'] }];
}
