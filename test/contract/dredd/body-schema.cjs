'use strict';
const document = require('../../../generated/openapi.json');

/** Whether the expected response of a transaction is JSON. */
function isJson({ expected }) {
  return expected.headers['Content-Type'] === 'application/json';
}

/** The schema of the expected JSON response of a transaction, as JSON Schema draft 7, which Dredd understands. */
function bodySchema({ origin, request, expected }) {
  const path = origin.resourceName;
  const operation = document.paths[path][request.method.toLowerCase()];
  const response = resolve(operation.responses[expected.statusCode]);
  const json = response.content?.['application/json'];
  if (!json) return undefined;
  return JSON.stringify({
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...toDraft7(json.schema),
  });
}

function resolve(node) {
  if (!node.$ref) return node;
  return node.$ref
    .slice(2)
    .split('/')
    .reduce((at, key) => at[key], document);
}

/** Resolves references; `nullable` becomes a type. Widths of integers are left out: Dredd takes them for errors. */
function toDraft7(schema) {
  const { example: _, nullable, ...rest } = resolve(schema);
  const converted = { ...rest };
  if (rest.type === 'integer') delete converted.format;
  if (nullable) converted.type = [rest.type, 'null'];
  if (rest.items) converted.items = toDraft7(rest.items);
  if (typeof rest.additionalProperties === 'object')
    converted.additionalProperties = toDraft7(rest.additionalProperties);
  if (rest.anyOf) converted.anyOf = rest.anyOf.map(toDraft7);
  if (rest.allOf) converted.allOf = rest.allOf.map(toDraft7);
  if (rest.properties) {
    converted.properties = Object.fromEntries(
      Object.entries(rest.properties).map(([name, property]) => [name, toDraft7(property)]),
    );
  }
  return converted;
}

module.exports = { bodySchema, isJson };
