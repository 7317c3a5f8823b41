import { isStandard, type ReadDefinition } from '../format-definition';

/**
 * How records are split into fields.
 * - `strict`: by the specification.
 * - `loose`: lines may also end in CR alone, and blanks may follow a closing quote.
 * - `padded`: also, blanks may precede a quote that closes before a delimiter or line end.
 * - `unquoted`: as `loose`, but a quote is a character.
 */
export type RecordSyntax = 'strict' | 'loose' | 'padded' | 'unquoted';

export function syntaxOf(definition: ReadDefinition): RecordSyntax {
  if (definition.strict) return 'strict';
  if (definition.quote === 'none') return 'unquoted';
  return isStandard(definition) ? 'loose' : 'padded';
}
