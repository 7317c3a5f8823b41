import type { OpenAPIV3 } from 'openapi-types';

/** A parameter of the dereferenced document. */
export type Parameter = OpenAPIV3.ParameterObject & { schema: OpenAPIV3.SchemaObject };

/** The declared query parameters as they were sent; an empty one counts as absent where the document allows that. */
export function sentQuery(parameters: readonly Parameter[], query: object): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const { name, in: place, allowEmptyValue } of parameters) {
    const value = (query as Record<string, unknown>)[name];
    if (place !== 'query' || value === undefined || (value === '' && allowEmptyValue)) continue;
    sent[name] = value;
  }
  return sent;
}

/** The same for the validator and the handler: integers as numbers where they are written as such, defaults filled in. */
export function typedQuery(
  parameters: readonly Parameter[],
  sent: Record<string, unknown>,
): Record<string, unknown> {
  const typed: Record<string, unknown> = {};
  for (const { name, in: place, schema } of parameters) {
    if (place !== 'query') continue;
    const value: unknown = sent[name] ?? schema.default;
    if (value === undefined) continue;
    typed[name] = schema.type === 'integer' && typeof value === 'string' ? toInteger(value) : value;
  }
  return typed;
}

/** openapi-backend's validator takes `1e1` and ` 5 ` for integers; nothing can be made of an object. */
function toInteger(text: string): number | object {
  return /^-?\d+$/.test(text) ? Number(text) : {};
}
