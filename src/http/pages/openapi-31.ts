type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/**
 * Translates an OpenAPI 3.0 document to 3.1, where events are part of it: `x-webhooks` becomes `webhooks`.
 * `nullable` is the only other keyword of the document that 3.1 has not.
 */
export function toOpenApi31(document: object): object {
  const { openapi: _version, 'x-webhooks': webhooks, ...rest } = document as Record<string, Json>;
  return { openapi: '3.1.0', ...withNullTypes(rest), webhooks: translate(webhooks!) };
}

function translate(node: Json): Json {
  if (Array.isArray(node)) return node.map(translate);
  return typeof node === 'object' && node !== null ? withNullTypes(node) : node;
}

function withNullTypes({ nullable, ...members }: { [name: string]: Json }): { [name: string]: Json } {
  const translated = Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, translate(member)]),
  );
  if (nullable === true) translated.type = [translated.type!, 'null'];
  return translated;
}
