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

/** Converts query parameters for the validator and the handler: integers and booleans as such, defaults filled in. */
export function typedQuery(
  parameters: readonly Parameter[],
  sent: Record<string, unknown>,
): Record<string, unknown> {
  const typed: Record<string, unknown> = {};
  for (const { name, in: place, schema } of parameters) {
    if (place !== 'query') continue;
    const value: unknown = sent[name] ?? schema.default;
    if (value === undefined) continue;
    typed[name] = typeof value === 'string' ? toTyped(value, schema.type) : value;
  }
  return typed;
}

function toTyped(text: string, type: Parameter['schema']['type']): string | number | boolean | object {
  if (type === 'integer') return toInteger(text);
  if (type !== 'boolean') return text;
  return text === 'true' || (text === 'false' ? false : {});
}

/** Parses digits only: openapi-backend's validator also accepts `1e1` and ` 5 `, but no object. */
function toInteger(text: string): number | object {
  return /^-?\d+$/.test(text) ? Number(text) : {};
}
