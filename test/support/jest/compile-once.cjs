const { OpenAPIValidator } = require('openapi-backend');

const compiled = new Map();
const compile = OpenAPIValidator.compileSchema.bind(OpenAPIValidator);

/** Compiles a schema of the document once for all services of a process: their first requests are then fast. */
OpenAPIValidator.compileSchema = (ajv, schema) => {
  const key = JSON.stringify([ajv.opts.coerceTypes, schema]);
  if (!compiled.has(key)) compiled.set(key, compile(ajv, schema));
  return compiled.get(key);
};
