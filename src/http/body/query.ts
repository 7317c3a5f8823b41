import type { OpenAPIV3 } from 'openapi-types';

export type Parameter = OpenAPIV3.ParameterObject & { schema: OpenAPIV3.SchemaObject };

/** Returns the declared query parameters as sent, without empty parameters that the document allows. */
export function sentQuery(parameters: readonly Parameter[], query: object): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const { name, in: place, allowEmptyValue } of parameters) {
    const value = (query as Record<string, unknown>)[name];
    if (place !== 'query' || value === undefined || (value === '' && allowEmptyValue)) continue;
    sent[name] = value;
  }
  return sent;
}

/** Converts query parameters for the validator and the handler: typed integers and booleans, with defaults. */
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

/** Converts a text to its type in the document; an invalid text becomes an object, which no schema accepts. */
export function toTyped(text: string, type: Parameter['schema']['type']): string | number | boolean | object {
  if (type === 'integer') return toNumber(text, /^-?\d+$/);
  if (type === 'number') return toNumber(text, /^\d{1,12}(?:\.\d{1,12})?$/);
  if (type !== 'boolean') return text;
  return text === 'true' || (text === 'false' ? false : {});
}

/** Returns the number of a text in plain notation: JavaScript also reads `1e1`, ` 5 ` and `0x5`. */
const toNumber = (text: string, form: RegExp): number | object => (form.test(text) ? Number(text) : {});
