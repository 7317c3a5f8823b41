/** All that the page may do: load its own files, read the document, and send requests to this service. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The icons of the styles are part of them.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * What starts the program of the page. Addresses are relative: the page works behind a proxy that puts a path before ours.
 * The program would fill every field with its parameter's example, cursor and all filters, and then find nothing: those
 * of optional parameters are shown beside the field instead.
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
    url: 'openapi.json',
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
 * The page itself, without any script or style in it.
 * @param entityTags - of the files that it loads; a new content gets a new address
 */
export function renderPage(entityTags: { styles: string; script: string; initializer: string }): string {
  const version = (entityTag: string) => entityTag.slice(1, 17);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Partner Catalog Integration Service</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css?v=${version(entityTags.styles)}">
    <script src="docs/swagger-ui-bundle.js?v=${version(entityTags.script)}" defer></script>
    <script src="docs/initializer.js?v=${version(entityTags.initializer)}" defer></script>
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
