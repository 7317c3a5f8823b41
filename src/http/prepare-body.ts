import type { OpenAPIV3 } from 'openapi-types';

/** A schema of the dereferenced document. `x-trim`: white space around the text does not count. */
export type BodySchema = Omit<OpenAPIV3.SchemaObject, 'properties'> & {
  'x-trim'?: boolean;
  properties?: Record<string, BodySchema>;
};

/**
 * A JSON body as the validator and the handler see it: fields that the document marks with `x-trim` are trimmed, and of a
 * list that is too long only one entry too many is left. The rest could hold a million errors more.
 */
export function prepareBody(body: object | undefined, { properties = {} }: BodySchema): object | undefined {
  if (body === undefined || Array.isArray(body)) return body;
  const prepared: Record<string, unknown> = { ...body };
  for (const [name, { 'x-trim': isTrimmed, maxItems }] of Object.entries(properties)) {
    const value = prepared[name];
    if (isTrimmed && typeof value === 'string') prepared[name] = value.trim();
    if (maxItems !== undefined && Array.isArray(value)) prepared[name] = value.slice(0, maxItems + 1);
  }
  return prepared;
}
