/** Allows the page to load its own files, read the document, and send requests to this service. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Starts Swagger UI with the 3.1 document, whose events it shows. Addresses are relative, for proxies that add a path prefix.
 * Swagger UI would fill optional fields with their examples (cursor and all filters), and find nothing: these examples are shown
 * beside the field.
 */
export const initializer = `const methods = ['get', 'put', 'post', 'patch', 'delete'];

function showExamples(document) {
  const { parameters: shared, schemas } = document.components;
  const operations = Object.values(document.paths).flatMap((path) => methods.map((method) => path[method] ?? {}));
  const declared = operations.flatMap(({ parameters = [] }) => parameters);
  for (const parameter of [...declared, ...Object.values(shared)]) {
    if (parameter.required || parameter.example === undefined) continue;
    parameter.description += '\\n\\nExample: \`' + parameter.example + '\`';
    delete parameter.example;
    const { $ref: reference } = parameter.schema;
    parameter.schema = { ...(reference ? schemas[reference.split('/').pop()] : parameter.schema) };
    delete parameter.schema.example;
  }
  return document;
}

const optionalFieldsStartEmpty = {
  statePlugins: {
    spec: { wrapActions: { updateJsonSpec: (update) => (document) => update(showExamples(document)) } },
  },
};

window.addEventListener('load', () => {
  window.SwaggerUIBundle({
    url: 'openapi-3.1.json',
    dom_id: '#swagger-ui',
    plugins: [optionalFieldsStartEmpty],
    deepLinking: true,
    filter: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    // A validator on the internet would get the document.
    validatorUrl: null,
  });
});
`;

/**
 * Renders the page, without inline scripts or styles.
 * @param paths - of the loaded files
 */
export function renderPage(paths: { styles: string; script: string; initializer: string }): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Partner Catalog Integration Service</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${paths.styles.slice(1)}">
    <script src="${paths.script.slice(1)}" defer></script>
    <script src="${paths.initializer.slice(1)}" defer></script>
  </head>
  <body>
    <div id="swagger-ui"></div>
    <noscript>
      This page needs JavaScript; the document is <a href="openapi.yaml">openapi.yaml</a>.
    </noscript>
  </body>
</html>
`;
}
