import type { OpenAPIV3 } from 'openapi-types';

/** A schema of the dereferenced document. `x-trim`: white space around the text is removed. */
export type BodySchema = Omit<OpenAPIV3.SchemaObject, 'properties'> & {
  'x-trim'?: boolean;
  properties?: Record<string, BodySchema>;
};

/**
 * Prepares a JSON body for the validator and the handler: trims fields with `x-trim`, and cuts lists, texts and objects just
 * beyond their maximum. The rest of a list could have a million errors, and the pattern of a partner's name takes minutes for a
 * megabyte. Entries of lists stay unchanged.
 */
export function prepareBody(body: object | undefined, schema: BodySchema): object | undefined {
  return prepareValue(body, schema) as object | undefined;
}

function prepareValue(value: unknown, schema: BodySchema): unknown {
  const { maxItems, maxProperties, properties = {} } = schema;
  if (typeof value === 'string') return prepareText(value, schema);
  if (Array.isArray(value)) return maxItems === undefined ? value : value.slice(0, maxItems + 1);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  const kept = maxProperties === undefined ? members : members.slice(0, maxProperties + 1);
  const prepare = ([name, member]: [string, unknown]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, own ? prepareValue(member, own) : member];
  };
  return Object.fromEntries(kept.map(prepare) as [string, unknown][]);
}

function prepareText(text: string, { 'x-trim': isTrimmed, maxLength }: BodySchema): string {
  const trimmed = isTrimmed ? text.trim() : text;
  // `maxLength` counts characters, of one or two code units.
  return maxLength === undefined ? trimmed : trimmed.slice(0, 2 * (maxLength + 1));
}
