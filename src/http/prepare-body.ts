import type { OpenAPIV3 } from 'openapi-types';

/** A schema of the dereferenced document. `x-trim`: white space around the text is removed. */
export type BodySchema = Omit<OpenAPIV3.SchemaObject, 'properties'> & {
  'x-trim'?: boolean;
  properties?: Record<string, BodySchema>;
};

/**
 * Prepares a JSON body for the validator and the handler: trims fields with `x-trim`, and cuts lists and texts just beyond their
 * maximum. The rest of a list could have a million errors, and the pattern of a partner's name takes minutes for a megabyte.
 */
export function prepareBody(body: object | undefined, { properties = {} }: BodySchema): object | undefined {
  if (body === undefined || Array.isArray(body)) return body;
  const prepared: Record<string, unknown> = { ...body };
  for (const [name, { 'x-trim': isTrimmed, maxItems, maxLength }] of Object.entries(properties)) {
    const value = prepared[name];
    if (maxItems !== undefined && Array.isArray(value)) prepared[name] = value.slice(0, maxItems + 1);
    if (typeof value !== 'string') continue;
    const text = isTrimmed ? value.trim() : value;
    // `maxLength` counts characters, of one or two code units.
    prepared[name] = maxLength === undefined ? text : text.slice(0, 2 * (maxLength + 1));
  }
  return prepared;
}
