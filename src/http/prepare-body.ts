import type { OpenAPIV3 } from 'openapi-types';

/** A schema of the dereferenced document. `x-trim`: white space around the text does not count. */
export type BodySchema = Omit<OpenAPIV3.SchemaObject, 'properties'> & {
  'x-trim'?: boolean;
  properties?: Record<string, BodySchema>;
};

/**
 * A JSON body as the validator and the handler see it: fields that the document marks with `x-trim` are trimmed, of a
 * list that is too long only one entry too many is left, and of such a text no more than shows that it is. The rest of a
 * list could hold a million errors more; for a megabyte of text, the pattern of a partner's name takes minutes.
 */
export function prepareBody(body: object | undefined, { properties = {} }: BodySchema): object | undefined {
  if (body === undefined || Array.isArray(body)) return body;
  const prepared: Record<string, unknown> = { ...body };
  for (const [name, { 'x-trim': isTrimmed, maxItems, maxLength }] of Object.entries(properties)) {
    const value = prepared[name];
    if (maxItems !== undefined && Array.isArray(value)) prepared[name] = value.slice(0, maxItems + 1);
    if (typeof value !== 'string') continue;
    const text = isTrimmed ? value.trim() : value;
    // In characters, each of which is one unit of the text or two.
    prepared[name] = maxLength === undefined ? text : text.slice(0, 2 * (maxLength + 1));
  }
  return prepared;
}
