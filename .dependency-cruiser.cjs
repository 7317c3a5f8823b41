/**
 * The rooms of src and what each may import, from the bottom up: a room imports only rooms that stand before it here.
 * Only main.ts, app.ts and config.ts stand outside; they compose.
 */
const rooms = {
  shared: [],
  'feed-format': ['shared'],
  db: ['shared'],
  events: ['shared', 'db'],
  storage: ['shared'],
  'embedded-postgres': ['shared', 'db'],
  http: ['shared', 'db', 'storage'],
  partners: ['shared', 'db', 'events', 'feed-format', 'http'],
  idempotency: ['shared', 'db'],
  keys: ['shared', 'db'],
  etl: ['shared', 'db', 'storage', 'feed-format', 'partners'],
  formats: ['shared', 'db', 'feed-format', 'http', 'partners', 'keys', 'etl'],
  jobs: ['shared', 'db', 'feed-format', 'http', 'partners', 'etl'],
  runs: ['shared', 'db', 'events', 'storage', 'feed-format', 'partners', 'http', 'etl', 'jobs'],
  feeds: [
    'shared',
    'db',
    'events',
    'storage',
    'feed-format',
    'http',
    'partners',
    'formats',
    'idempotency',
    'keys',
    'etl',
    'jobs',
  ],
  sources: [
    'shared',
    'db',
    'events',
    'storage',
    'feed-format',
    'http',
    'partners',
    'keys',
    'formats',
    'jobs',
    'runs',
    'feeds',
  ],
  products: ['shared', 'db', 'feed-format', 'http', 'partners', 'formats'],
  orders: ['shared', 'db', 'events', 'feed-format', 'http', 'partners', 'idempotency'],
  analytics: ['shared', 'db', 'http'],
  provenance: ['shared', 'db', 'storage', 'feed-format', 'http', 'etl'],
  retention: ['shared', 'db', 'storage', 'partners', 'etl', 'provenance'],
  health: ['shared', 'db', 'http'],
  docs: ['shared', 'http'],
  webhooks: ['shared', 'db', 'events', 'http', 'feeds', 'jobs', 'orders', 'partners', 'sources'],
  telemetry: ['shared', 'db', 'storage', 'http', 'health', 'runs', 'sources', 'webhooks'],
  cli: ['shared', 'feed-format'],
};
/** They put the service together, and import `config.ts`. */
const composers = { process: ['cli', 'admin'], admin: ['cli'] };

const order = Object.keys(rooms);
for (const [room, imports] of Object.entries(rooms)) {
  const upward = imports.filter((other) => order.indexOf(other) >= order.indexOf(room));
  if (upward.length > 0)
    throw new Error(`src/${room} may not import what stands after it: ${upward.join(', ')}`);
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment:
        'Files that import one another cannot be read one after the other: move what both need below them.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'known-room',
      comment:
        'A new folder of src gets its line in .dependency-cruiser.cjs, and one in the map of the README.',
      severity: 'error',
      from: {
        path: '^src/[^/]+/',
        pathNot: `^src/(${[...order, ...Object.keys(composers), 'console'].join('|')})/`,
      },
      to: {},
    },
    ...Object.entries(rooms).map(([room, imports]) => ({
      name: `${room}-imports`,
      comment: `src/${room} may import ${imports.join(', ') || 'no other folder of src'}. See docs/explanation/architecture.md.`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: `^src/(${[room, ...imports].join('|')})/` },
    })),
    ...Object.entries(composers).map(([room, others]) => ({
      name: `${room}-imports`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: `^src/(main\\.ts$|${others.join('/|')}/)` },
    })),
    {
      name: 'config-imports',
      severity: 'error',
      from: { path: '^src/config\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(shared|feed-format)/' },
    },
    {
      name: 'layout-is-chosen-once',
      comment:
        'How products are stored is chosen in src/base/db/layout/product-layout.ts: call its functions, or add one to both layouts. Only statements ' +
        'of src/catalog/products/pages that cannot be one have a form for each.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(db/(layout|distribution)|products/pages)/' },
      to: {
        path: '^src/base/db/layout/',
        pathNot: '^src/base/db/layout/(product-layout|layout-interface|copy-products)\\.ts$',
      },
    },
    {
      name: 'read-imports',
      comment: 'How a file is read depends on nothing but what a column, a format and a text are.',
      severity: 'error',
      from: { path: '^src/feed-format/read/' },
      to: {
        path: '^src/',
        pathNot:
          '^src/(shared/|feed-format/(read/|(columns|decimal-comma|delimiter|format-definition|load-options|report-columns|text)\\.ts$))',
      },
    },
    {
      name: 'console-imports',
      comment:
        'The console is a client: it knows the service by the document, and how files are read by feed-format.',
      severity: 'error',
      from: { path: '^src/clients/console/' },
      to: { path: '^src/', pathNot: '^src/(console|feed-format)/' },
    },
    {
      name: 'console-is-bundled',
      comment: 'The console runs in the browser: src/http/pages serves its bundle.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/clients/console/' },
      to: { path: '^src/clients/console/' },
    },
    {
      name: 'no-test-code',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts)/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
