/** A Spectral function: a schema with `x-same-members` must have the required names and the properties of the named schema. */
export default function hasSameMembers(schema, _options, { document }) {
  const other = document.data.components.schemas[schema['x-same-members']];
  const membersOf = ({ required, properties } = {}) => JSON.stringify([required, properties]);
  return membersOf(schema) === membersOf(other) ? undefined : [{ message: schema['x-same-members'] }];
}
