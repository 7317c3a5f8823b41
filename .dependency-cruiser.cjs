/**
 * The folders directly below src, from the bottom up: what each may import, and its rooms in the same order. A folder or room imports only
 * what stands before it here. The room '.' is the files of the folder itself.
 */
const folders = {
  base: {
    imports: [],
    rooms: {
      '.': [],
      concurrency: ['.'],
      db: ['.', 'concurrency'],
      storage: ['.', 'concurrency'],
      'embedded-postgres': ['.', 'db'],
    },
  },
  'feed-format': {
    imports: ['base'],
    rooms: { '.': [], read: ['.'], rows: ['.', 'read'], detect: ['.', 'read', 'rows'], write: ['.', 'read'] },
  },
  http: {
    imports: ['base'],
    rooms: {
      keys: [],
      idempotency: [],
      body: ['keys'],
      contract: ['keys', 'body'],
      reply: ['keys', 'body', 'contract'],
      pages: ['contract', 'reply'],
      '.': ['keys', 'body', 'contract', 'reply'],
    },
  },
  catalog: {
    imports: ['base', 'feed-format', 'http'],
    rooms: {
      changes: [],
      partners: ['changes'],
      formats: ['partners'],
      products: ['changes', 'partners', 'formats'],
    },
  },
  sales: { imports: ['base', 'feed-format', 'http', 'catalog'], rooms: { orders: [], analytics: [] } },
  runs: {
    imports: ['base', 'feed-format', 'http', 'catalog'],
    rooms: {
      etl: [],
      jobs: ['etl'],
      queue: ['etl', 'jobs'],
      execution: ['etl', 'jobs', 'queue'],
      '.': ['etl', 'jobs', 'queue', 'execution'],
    },
  },
  intake: {
    imports: ['base', 'feed-format', 'http', 'catalog', 'runs'],
    rooms: { feeds: [], sources: ['feeds'], provenance: [] },
  },
  webhooks: { imports: ['base', 'http', 'catalog', 'sales', 'runs', 'intake'], rooms: { '.': [] } },
  operation: {
    imports: ['base', 'feed-format', 'http', 'catalog', 'sales', 'runs', 'intake', 'webhooks'],
    rooms: {
      telemetry: [],
      retention: [],
      database: [],
      process: ['telemetry', 'retention', 'database'],
      admin: ['retention', 'database', 'process'],
    },
  },
  clients: { imports: ['base', 'feed-format'], rooms: { cli: [], console: [] } },
};

function requireOrder(place, imports) {
  const order = Object.keys(imports);
  for (const [name, others] of Object.entries(imports)) {
    const upward = others.filter((other) => order.indexOf(other) >= order.indexOf(name));
    if (upward.length > 0)
      throw new Error(`${place}/${name} may not import ${upward.join(', ')}: they do not stand before it.`);
  }
}

requireOrder(
  'src',
  Object.fromEntries(Object.entries(folders).map(([name, { imports }]) => [name, imports])),
);
for (const [folder, { rooms }] of Object.entries(folders)) requireOrder(`src/${folder}`, rooms);

const names = Object.keys(folders);
/** Files of a room; those of '.' stand in the folder itself. */
const filesOf = (folder, room) => `^src/${folder}/${room === '.' ? '[^/]+$' : `${room}/`}`;

const betweenFolders = Object.entries(folders).map(([folder, { imports }]) => ({
  name: `${folder}-imports`,
  comment: `src/${folder} may import ${imports.join(', ') || 'no other folder of src'}. See docs/explanation/architecture.md.`,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: '^src/operation/(process|admin)/' },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...imports].join('|')})/` },
}));

const betweenRooms = Object.entries(folders).flatMap(([folder, { rooms }]) =>
  Object.entries(rooms).map(([room, imports]) => ({
    name: `${folder}-${room}-imports`,
    comment: `Of src/${folder}, ${room === '.' ? 'files of the folder itself' : room} may import ${imports.join(', ') || 'no other room'}.`,
    severity: 'error',
    from: { path: filesOf(folder, room) },
    to: { path: `^src/${folder}/`, pathNot: [room, ...imports].map((each) => filesOf(folder, each)) },
  })),
);

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
        pathNot: names.flatMap((folder) =>
          Object.keys(folders[folder].rooms).map((room) => filesOf(folder, room)),
        ),
      },
      to: {},
    },
    ...betweenFolders,
    ...betweenRooms,
    {
      name: 'composers-import',
      comment: 'They put the service together: they may import everything but clients.',
      severity: 'error',
      from: { path: '^src/(operation/(process|admin)/|app\\.ts$|main\\.ts$)' },
      to: { path: '^src/clients/' },
    },
    {
      name: 'config-imports',
      severity: 'error',
      from: { path: '^src/config\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(base|feed-format)/[^/]+$' },
    },
    {
      name: 'layout-is-chosen-once',
      comment:
        'How products are stored is chosen in src/base/db/layout/product-layout.ts: call its functions, or add one to both layouts. Only statements ' +
        'of src/catalog/products/pages that cannot be one have a form for each.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(base/db/layout|operation/database|catalog/products/pages)/' },
      to: {
        path: '^src/base/db/layout/',
        pathNot: '^src/base/db/layout/(product-layout|layout-interface|copy-products)\\.ts$',
      },
    },
    {
      name: 'console-imports',
      comment:
        'The console is a client: it knows the service by the document, and how files are read by feed-format.',
      severity: 'error',
      from: { path: '^src/clients/console/' },
      to: { path: '^src/', pathNot: '^src/(clients/console|feed-format)/' },
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
