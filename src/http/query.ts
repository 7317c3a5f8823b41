import type { OpenAPIV3 } from 'openapi-types';

export type Parameter = OpenAPIV3.ParameterObject & { schema: OpenAPIV3.SchemaObject };

/** Returns the declared query parameters as sent, without empty ones that the document allows. */
export function sentQuery(parameters: readonly Parameter[], query: object): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const { name, in: place, allowEmptyValue } of parameters) {
    const value = (query as Record<string, unknown>)[name];
    if (place !== 'query' || value === undefined || (value === '' && allowEmptyValue)) continue;
    sent[name] = value;
  }
  return sent;
}

/** Converts query parameters for the validator and the handler: integers as numbers, defaults filled in. */
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

/** Parses digits only: openapi-backend's validator also accepts `1e1` and ` 5 `, but no object. */
function toInteger(text: string): number | object {
  return /^-?\d+$/.test(text) ? Number(text) : {};
}
